use fused_norm_kernels::stat_len;

use super::Settings;

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
}

impl RmsNormOptions {
    /// RMSNorm over the whole last axis.
    pub fn new(epsilon: f64) -> Self {
        Self {
            epsilon,
            partial: None,
        }
    }

    /// Let the statistic read the first `⌈d_model·p⌉` features only; `None` for all of them.
    pub fn with_partial(mut self, partial: Option<f64>) -> Self {
        self.partial = partial;
        self
    }

    /// Panics in the name of `operation` if a value is out of its range.
    pub(crate) fn assert_valid(&self, operation: &str) {
        let Self { epsilon, partial } = *self;
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

    /// The same in the words of the [contract](super::RmsNormOps), for rows of `d_model` features.
    ///
    /// # Panics
    ///
    /// If a value is out of its range.
    pub fn settings(&self, d_model: usize) -> Settings {
        self.assert_valid("rms_norm");
        Settings {
            stat_len: self.partial.map_or(d_model, |p| stat_len(d_model, p)),
            epsilon: self.epsilon,
        }
    }
}
