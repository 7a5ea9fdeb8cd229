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
        record_norm::<B, C>(x, affine, settings, |x, affine, with_rstd| {
            if with_rstd {
                let (y, rstd) = B::rms_norm_with_rstd(x, affine, settings);
                (y, Some(rstd))
            } else {
                (B::rms_norm(x, affine, settings), None)
            }
        })
    }
}

/// The node of a normalisation of `x`. `compute(x, affine, with_rstd)` gives y, and rstd if it is told
/// to.
pub(in crate::ops) fn record_norm<B: Backend + RmsNormOps, C: CheckpointStrategy>(
    x: FloatTensor<Autodiff<B, C>>,
    affine: Affine<Autodiff<B, C>>,
    settings: Settings,
    compute: impl FnOnce(FloatTensor<B>, Affine<B>, bool) -> (FloatTensor<B>, Option<FloatTensor<B>>),
) -> FloatTensor<Autodiff<B, C>> {
    match affine {
        Affine::None => record::<B, C, 1>([x], settings, compute),
        Affine::Scale { gamma } => record::<B, C, 2>([x, gamma], settings, compute),
        Affine::ScaleShift { gamma, beta } => {
            record::<B, C, 3>([x, gamma, beta], settings, compute)
        }
    }
}

/// `inputs` are x, and gamma and beta as far as there are any.
fn record<B: Backend + RmsNormOps, C: CheckpointStrategy, const N: usize>(
    inputs: [FloatTensor<Autodiff<B, C>>; N],
    settings: Settings,
    compute: impl FnOnce(FloatTensor<B>, Affine<B>, bool) -> (FloatTensor<B>, Option<FloatTensor<B>>),
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
            let (y, rstd) = compute(x, affine, true);
            let saved = Saved::<B, N> {
                inputs: ids,
                rstd: rstd.expect("rstd was asked for"),
                settings,
            };
            prep.finish(saved, y)
        }
        OpsKind::UnTracked(prep) => {
            let (x, affine) = split::<B, N>(inputs.map(|input| input.into_primitive()));
            prep.finish(compute(x, affine, false).0)
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

/// The first input, and what is done to the normalised values.
pub(in crate::ops) fn split<B: Backend, const N: usize>(
    inputs: [FloatTensor<B>; N],
) -> (FloatTensor<B>, Affine<B>) {
    let mut inputs = inputs.into_iter();
    let x = inputs.next().expect("x is the first input");
    (x, Affine::of(inputs.next(), inputs.next()))
}
