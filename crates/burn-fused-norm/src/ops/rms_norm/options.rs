use burn::serde::{Deserialize, Serialize};
use fused_norm_kernels::stat_len;

use super::{OPERATION, Settings};

/// Where a row is rounded to x's type on its way to y.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(crate = "burn::serde")]
pub enum Rounding {
    /// Once, at the end: `y = round(x·rstd·gamma + beta)`, the nearest value of x's type.
    #[default]
    Once,
    /// After every step, as LLaMA's own code does: `y = round(round(x·rstd)·round(gamma))`, and with
    /// beta `round(y + round(beta))`. The gradients are those of the unrounded function.
    BeforeGamma,
}

impl From<Rounding> for fused_norm_kernels::Rounding {
    fn from(rounding: Rounding) -> Self {
        match rounding {
            Rounding::Once => Self::Once,
            Rounding::BeforeGamma => Self::BeforeGamma,
        }
    }
}

/// What [`rms_norm`](super::rms_norm) needs to know beside its tensors.
///
/// ```
/// use burn_fused_norm::RmsNormOptions;
///
/// let options = RmsNormOptions::new(1e-6).with_partial(Some(0.0625));
/// assert_eq!(options.epsilon, 1e-6);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct RmsNormOptions {
    /// Added to the mean square inside the root. Finite and greater than zero.
    pub epsilon: f64,
    /// The fraction p of pRMSNorm, in (0, 1]; `None` for RMSNorm.
    pub partial: Option<f64>,
    /// gamma is stored around 0: the factor is `1 + gamma`, formed in f32 (Gemma, Qwen3-Next).
    pub zero_centered: bool,
    /// Where a row is rounded to x's type on its way to y.
    pub rounding: Rounding,
    /// Equal parts of the normalised axis, each with a statistic of its own (Mamba-2).
    pub groups: usize,
    /// The normalised axis, counted from the last, which is 0.
    pub axis: usize,
}

impl RmsNormOptions {
    /// RMSNorm over the whole last axis.
    pub fn new(epsilon: f64) -> Self {
        Self {
            epsilon,
            partial: None,
            zero_centered: false,
            rounding: Rounding::Once,
            groups: 1,
            axis: 0,
        }
    }

    /// Let the statistic read the first `⌈d_model·p⌉` features only, and of groups the first
    /// `⌈d_model/groups·p⌉` of each; `None` for all of them.
    pub fn with_partial(mut self, partial: Option<f64>) -> Self {
        self.partial = partial;
        self
    }

    /// Let the factor be `1 + gamma`.
    pub fn with_zero_centered(mut self, zero_centered: bool) -> Self {
        self.zero_centered = zero_centered;
        self
    }

    /// Round once, or after every step as LLaMA's own code does, which a gated norm refuses.
    pub fn with_rounding(mut self, rounding: Rounding) -> Self {
        self.rounding = rounding;
        self
    }

    /// Take the statistic of each of `groups` equal parts of the axis. gamma goes over the whole axis.
    pub fn with_groups(mut self, groups: usize) -> Self {
        self.groups = groups;
        self
    }

    /// Normalise another axis than the last: 1 is the one before it, and so on. `[N, C, H, W]` has its
    /// channels at 2.
    pub fn with_axis(mut self, axis: usize) -> Self {
        self.axis = axis;
        self
    }

    /// Panics in the name of `operation` if a value is out of its range.
    pub(crate) fn assert_valid(&self, operation: &str) {
        let Self {
            epsilon, partial, ..
        } = *self;
        assert!(
            epsilon.is_finite() && epsilon > 0.0,
            "{operation}: epsilon is {epsilon}, expected a finite number greater than 0"
        );
        if let Some(p) = partial {
            assert!(
                p > 0.0 && p <= 1.0,
                "{operation}: partial is {p}, expected a fraction in (0, 1]"
            );
        }
    }

    /// Panics in the name of `operation` if `d_model` features are not whole groups.
    pub(crate) fn assert_groups(&self, operation: &str, d_model: usize) {
        let groups = self.groups;
        assert!(
            groups > 0 && d_model.is_multiple_of(groups),
            "{operation}: groups is {groups} with d_model {d_model}, expected a divisor of it"
        );
    }

    /// The same in the words of the [contract](super::RmsNormOps), for `d_model` features.
    ///
    /// # Panics
    ///
    /// If a value is out of its range.
    pub fn settings(&self, d_model: usize) -> Settings {
        self.settings_of(OPERATION, d_model)
    }

    /// [`settings`](Self::settings) that refuses in the name of `operation`.
    pub(crate) fn settings_of(&self, operation: &str, d_model: usize) -> Settings {
        self.assert_valid(operation);
        self.assert_groups(operation, d_model);
        let row_len = d_model / self.groups;
        Settings {
            row_len,
            stat_len: self.partial.map_or(row_len, |p| stat_len(row_len, p)),
            gamma_rows: self.groups,
            epsilon: self.epsilon,
            zero_centered: self.zero_centered,
            rounding: self.rounding,
        }
    }
}
