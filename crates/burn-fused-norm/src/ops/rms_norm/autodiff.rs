//! The gradient: one node for the whole operation, whatever parameters it has.

use core::fmt::Debug;
use core::marker::PhantomData;

use burn::backend::autodiff::NodeId;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::retro_forward::RetroForward;
use burn::backend::autodiff::checkpoint::state::BackwardStates;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients as Graph;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend};

use super::{Affine, Gradient, Gradients, RmsNormOps, Settings, Wanted};

impl<B: Backend + RmsNormOps, C: CheckpointStrategy> RmsNormOps for Autodiff<B, C> {
    fn rms_norm(
        x: FloatTensor<Self>,
        affine: Affine<Self>,
        settings: Settings,
    ) -> FloatTensor<Self> {
        match affine {
            Affine::None => record::<B, C, 1>([x], settings),
            Affine::Scale { gamma } => record::<B, C, 2>([x, gamma], settings),
            Affine::ScaleShift { gamma, beta } => record::<B, C, 3>([x, gamma, beta], settings),
        }
    }
}

/// `inputs` are x, and gamma and beta as far as there are any.
fn record<B: Backend + RmsNormOps, C: CheckpointStrategy, const N: usize>(
    inputs: [FloatTensor<Autodiff<B, C>>; N],
    settings: Settings,
) -> FloatTensor<Autodiff<B, C>> {
    let retro_forward = Recompute::<B, N> {
        inputs: inputs.each_ref().map(|input| input.id()),
        settings,
        backend: PhantomData,
    };
    let prep = RmsNormBackward
        .prepare::<C>(inputs.each_ref().map(|input| input.node()))
        .memory_bound()
        .retro_forward(retro_forward)
        .parents(&inputs)
        .stateful();

    match prep {
        OpsKind::Tracked(mut prep) => {
            let ids = inputs.each_ref().map(|input| prep.checkpoint(input));
            let (x, affine) = split::<B, N>(inputs.map(|input| input.into_primitive()));
            let (y, rstd) = B::rms_norm_with_rstd(x, affine, settings);
            let saved = Saved::<B, N> {
                inputs: ids,
                rstd,
                settings,
            };
            prep.finish(saved, y)
        }
        OpsKind::UnTracked(prep) => {
            let (x, affine) = split::<B, N>(inputs.map(|input| input.into_primitive()));
            prep.finish(B::rms_norm(x, affine, settings))
        }
    }
}

#[derive(Debug)]
struct RmsNormBackward;

/// What the backward pass needs: the inputs, kept or recomputed as the checkpointing strategy
/// decides, and the statistic, which costs one number a row.
#[derive(Debug, Clone)]
struct Saved<B: Backend, const N: usize> {
    inputs: [NodeId; N],
    rstd: FloatTensor<B>,
    settings: Settings,
}

impl<B: Backend + RmsNormOps, const N: usize> Backward<B, N> for RmsNormBackward {
    type State = Saved<B, N>;

    fn backward(
        self,
        ops: Ops<Self::State, N>,
        graph: &mut Graph,
        checkpointer: &mut Checkpointer,
    ) {
        let Saved {
            inputs,
            rstd,
            settings,
        } = ops.state;
        let dy = graph.consume::<B>(&ops.node);
        let inputs = inputs.map(|id| checkpointer.retrieve_node_output(id));
        let (x, affine) = split::<B, N>(inputs);
        let tracked = |input| ops.parents.get(input).is_some_and(Option::is_some);
        let wanted = Wanted {
            dx: tracked(0),
            dgamma: tracked(1),
            dbeta: tracked(2),
        };
        let Gradients { dx, dgamma, dbeta } =
            B::rms_norm_backward(dy, x, rstd, affine, settings, wanted);
        for (parent, gradient) in ops.parents.into_iter().zip([dx, dgamma, dbeta]) {
            if let (Some(parent), Gradient::Computed(gradient)) = (parent, gradient) {
                graph.register::<B>(parent.id, gradient);
            }
        }
    }
}

/// Computes `y` anew where a checkpointing strategy has not kept it.
#[derive(Debug)]
struct Recompute<B, const N: usize> {
    inputs: [NodeId; N],
    settings: Settings,
    backend: PhantomData<B>,
}

impl<B: Backend + RmsNormOps, const N: usize> RetroForward for Recompute<B, N> {
    fn forward(&self, states: &mut BackwardStates, out_node: NodeId) {
        let inputs = self.inputs.map(|id| states.get_state(&id));
        let (x, affine) = split::<B, N>(inputs);
        states.save(out_node, B::rms_norm(x, affine, self.settings));
    }
}

/// x, and what is done to the normalised values.
fn split<B: Backend, const N: usize>(inputs: [FloatTensor<B>; N]) -> (FloatTensor<B>, Affine<B>) {
    let mut inputs = inputs.into_iter();
    let x = inputs.next().expect("x is the first input");
    let affine = match (inputs.next(), inputs.next()) {
        (None, _) => Affine::None,
        (Some(gamma), None) => Affine::Scale { gamma },
        (Some(gamma), Some(beta)) => Affine::ScaleShift { gamma, beta },
    };
    (x, affine)
}
