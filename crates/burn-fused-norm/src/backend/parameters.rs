//! gamma and beta in the type of computation, and their gradients in any float type.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use fused_norm_kernels::cpu::{Affine, Element, Statistic};

/// gamma and beta, borrowed from their tensors where these have the type of computation.
pub(crate) struct Parameters<'a, S: Statistic> {
    gamma: Option<Cow<'a, [S]>>,
    beta: Option<Cow<'a, [S]>>,
}

impl<'a, S: Statistic> Parameters<'a, S> {
    /// `read` gives a tensor's values.
    pub(crate) fn read<Tensor>(
        (gamma, beta): (Option<&'a Tensor>, Option<&'a Tensor>),
        read: impl Fn(&'a Tensor) -> Cow<'a, [S]>,
    ) -> Self {
        Self {
            gamma: gamma.map(&read),
            beta: beta.map(&read),
        }
    }

    pub(crate) fn affine(&self) -> Affine<'_, S> {
        match (&self.gamma, &self.beta) {
            (None, _) => Affine::None,
            (Some(gamma), None) => Affine::Scale { gamma },
            (Some(gamma), Some(beta)) => Affine::ScaleShift { gamma, beta },
        }
    }
}

/// Rounds once, whatever the two types.
pub(crate) fn convert<A: Element, B: Element>(values: &[A]) -> Vec<B> {
    values
        .iter()
        .map(|&value| B::from_f64(value.to_f64()))
        .collect()
}
