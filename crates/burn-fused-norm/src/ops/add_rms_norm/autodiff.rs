//! The gradient: two nodes for one kernel. The sum is a node of its own, as more flows into its
//! gradient than the normalisation's.

use core::marker::PhantomData;

use burn::backend::autodiff::NodeId;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::retro_forward::RetroForward;
use burn::backend::autodiff::checkpoint::state::BackwardStates;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients as Graph;
use burn::backend::autodiff::ops::{Backward, NodeGuard, Ops, OpsKind};
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend};

use super::AddRmsNormOps;
use crate::ops::rms_norm::autodiff::record_norm;
use crate::ops::rms_norm::{Affine, Settings};

impl<B: Backend + AddRmsNormOps, C: CheckpointStrategy> AddRmsNormOps for Autodiff<B, C> {
    fn add_rms_norm(
        x: FloatTensor<Self>,
        residual: FloatTensor<Self>,
        affine: Affine<Self>,
        settings: Settings,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let with_rstd = {
            let (gamma, beta) = affine.parameters();
            [Some(&x), Some(&residual), gamma, beta]
                .into_iter()
                .flatten()
                .any(|input| is_tracked::<B, C>(input.node()))
        };
        let inner = inner_affine(&affine);
        let nodes = [x.node(), residual.node()];
        let retro_forward = Recompute::<B> {
            inputs: [x.id(), residual.id()],
            backend: PhantomData,
        };
        let sum_node = AddBackward
            .prepare::<C>(nodes)
            .memory_bound()
            .retro_forward(retro_forward)
            .parents([&x, &residual]);
        let (x, residual) = (x.into_primitive(), residual.into_primitive());
        let (y, sum, rstd) = if with_rstd {
            let (y, sum, rstd) = B::add_rms_norm_with_rstd(x, residual, inner, settings);
            (y, sum, Some(rstd))
        } else {
            let (y, sum) = B::add_rms_norm(x, residual, inner, settings);
            (y, sum, None)
        };
        let sum = sum_node.stateless(sum);
        let y = record_norm::<B, C>(sum.clone(), affine, settings, |_, _, _| (y, rstd));
        (y, sum)
    }
}

/// The gradient of a sum is the gradient of each of its terms.
#[derive(Debug)]
struct AddBackward;

impl<B: Backend> Backward<B, 2> for AddBackward {
    type State = ();

    fn backward(self, ops: Ops<(), 2>, graph: &mut Graph, _: &mut Checkpointer) {
        let dsum = graph.consume::<B>(&ops.node);
        let [x, residual] = ops.parents;
        if let Some(x) = x {
            graph.register::<B>(x.id, dsum.clone());
        }
        if let Some(residual) = residual {
            graph.register::<B>(residual.id, dsum);
        }
    }
}

/// Computes the sum anew where a checkpointing strategy has not kept it.
#[derive(Debug)]
struct Recompute<B> {
    inputs: [NodeId; 2],
    backend: PhantomData<B>,
}

impl<B: Backend> RetroForward for Recompute<B> {
    fn forward(&self, states: &mut BackwardStates, out_node: NodeId) {
        let [x, residual] = self
            .inputs
            .map(|id| states.get_state::<FloatTensor<B>>(&id));
        states.save(out_node, B::float_add(x, residual));
    }
}

/// Whether a gradient has to reach this node: what an operation on it alone would be told.
fn is_tracked<B: Backend, C: CheckpointStrategy>(node: NodeGuard) -> bool {
    #[derive(Debug)]
    struct Asked;
    impl<B: Backend> Backward<B, 1> for Asked {
        type State = ();
        fn backward(self, _: Ops<(), 1>, _: &mut Graph, _: &mut Checkpointer) {
            unreachable!("no step is registered")
        }
    }
    let prep = <Asked as Backward<B, 1>>::prepare::<C>(Asked, [node]).compute_bound();
    matches!(prep.stateful(), OpsKind::Tracked(_))
}

/// The parameters without their nodes.
fn inner_affine<B: Backend, C: CheckpointStrategy>(affine: &Affine<Autodiff<B, C>>) -> Affine<B> {
    let inner = |parameter: &FloatTensor<Autodiff<B, C>>| parameter.primitive().clone();
    match affine {
        Affine::None => Affine::None,
        Affine::Scale { gamma } => Affine::Scale {
            gamma: inner(gamma),
        },
        Affine::ScaleShift { gamma, beta } => Affine::ScaleShift {
            gamma: inner(gamma),
            beta: inner(beta),
        },
    }
}
