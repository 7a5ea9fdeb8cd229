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

use super::{GatedGradients, GatedRmsNormOps, GatedSettings, GatedWanted};
use crate::ops::rms_norm::{Affine, Gradient, Wanted};

impl<B: Backend + GatedRmsNormOps, C: CheckpointStrategy> GatedRmsNormOps for Autodiff<B, C> {
    fn gated_rms_norm(
        x: FloatTensor<Self>,
        gate: FloatTensor<Self>,
        affine: Affine<Self>,
        settings: GatedSettings,
    ) -> FloatTensor<Self> {
        match affine {
            Affine::None => record::<B, C, 2>([x, gate], settings),
            Affine::Scale { gamma } => record::<B, C, 3>([x, gate, gamma], settings),
            Affine::ScaleShift { gamma, beta } => {
                record::<B, C, 4>([x, gate, gamma, beta], settings)
            }
        }
    }
}

/// `inputs` are x and the gate, and gamma and beta as far as there are any.
fn record<B: Backend + GatedRmsNormOps, C: CheckpointStrategy, const N: usize>(
    inputs: [FloatTensor<Autodiff<B, C>>; N],
    settings: GatedSettings,
) -> FloatTensor<Autodiff<B, C>> {
    let retro_forward = Recompute::<B, N> {
        inputs: inputs.each_ref().map(|input| input.id()),
        settings,
        backend: PhantomData,
    };
    let prep = GatedRmsNormBackward
        .prepare::<C>(inputs.each_ref().map(|input| input.node()))
        .memory_bound()
        .retro_forward(retro_forward)
        .parents(&inputs)
        .stateful();

    match prep {
        OpsKind::Tracked(mut prep) => {
            let ids = inputs.each_ref().map(|input| prep.checkpoint(input));
            let (x, gate, affine) = split::<B, N>(inputs.map(|input| input.into_primitive()));
            let (y, rstd) = B::gated_rms_norm_with_rstd(x, gate, affine, settings);
            let saved = Saved::<B, N> {
                inputs: ids,
                rstd,
                settings,
            };
            prep.finish(saved, y)
        }
        OpsKind::UnTracked(prep) => {
            let (x, gate, affine) = split::<B, N>(inputs.map(|input| input.into_primitive()));
            prep.finish(B::gated_rms_norm(x, gate, affine, settings))
        }
    }
}

#[derive(Debug)]
struct GatedRmsNormBackward;

/// What the backward pass needs: the inputs, kept or recomputed as the checkpointing strategy
/// decides, and the statistic, which costs one number a row.
#[derive(Debug, Clone)]
struct Saved<B: Backend, const N: usize> {
    inputs: [NodeId; N],
    rstd: FloatTensor<B>,
    settings: GatedSettings,
}

impl<B: Backend + GatedRmsNormOps, const N: usize> Backward<B, N> for GatedRmsNormBackward {
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
        let (x, gate, affine) = split::<B, N>(inputs);
        let tracked = |input| ops.parents.get(input).is_some_and(Option::is_some);
        let wanted = GatedWanted {
            norm: Wanted {
                dx: tracked(0),
                dgamma: tracked(2),
                dbeta: tracked(3),
            },
            dgate: tracked(1),
        };
        let GatedGradients {
            dx,
            dgate,
            dgamma,
            dbeta,
        } = B::gated_rms_norm_backward(dy, x, gate, rstd, affine, settings, wanted);
        let gradients = [dx, dgate, dgamma, dbeta];
        for (parent, gradient) in ops.parents.into_iter().zip(gradients) {
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
    settings: GatedSettings,
    backend: PhantomData<B>,
}

impl<B: Backend + GatedRmsNormOps, const N: usize> RetroForward for Recompute<B, N> {
    fn forward(&self, states: &mut BackwardStates, out_node: NodeId) {
        let inputs = self.inputs.map(|id| states.get_state(&id));
        let (x, gate, affine) = split::<B, N>(inputs);
        states.save(out_node, B::gated_rms_norm(x, gate, affine, self.settings));
    }
}

/// x, the gate, and what is done to the normalised values.
fn split<B: Backend, const N: usize>(
    inputs: [FloatTensor<B>; N],
) -> (FloatTensor<B>, FloatTensor<B>, Affine<B>) {
    let mut inputs = inputs.into_iter();
    let x = inputs.next().expect("x is the first input");
    let gate = inputs.next().expect("the gate is the second input");
    (x, gate, Affine::of(inputs.next(), inputs.next()))
}
