use core::fmt::{self, Display, Formatter};

use burn::config::{Config, config_to_json};
use burn::module::{Content, DisplaySettings, Initializer, Module, ModuleDisplay, Param};
use burn::serde::{Deserialize, Serialize};
use burn::tensor::{Device, Tensor};

use super::config::default;
use crate::ops::rms_norm::{RmsNormOptions, Rounding, per_head_rms_norm};

/// Configuration of a [`PerHeadRmsNorm`] layer, created by [`init`](PerHeadRmsNormConfig::init).
///
/// A saved configuration need not name more than `heads` and `head_dim`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(crate = "burn::serde")]
pub struct PerHeadRmsNormConfig {
    /// Heads: the last axis of the input but one.
    pub heads: usize,
    /// Features of a head: the last axis of the input.
    pub head_dim: usize,
    /// Added to the mean square inside the root. Finite and greater than zero. Default: 1e-5
    #[serde(default = "default::epsilon")]
    pub epsilon: f64,
    /// The fraction p of pRMSNorm, in (0, 1], or `None` for RMSNorm. Default: `None`
    #[serde(default)]
    pub partial: Option<f64>,
    /// If gamma is stored around 0 and initialised to zeros: the factor is `1 + gamma`. Default: false
    #[serde(default)]
    pub zero_centered: bool,
    /// Where a row is rounded to its type. Default: once
    #[serde(default)]
    pub rounding: Rounding,
}

impl Config for PerHeadRmsNormConfig {}

/// As JSON.
impl Display for PerHeadRmsNormConfig {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&config_to_json(self))
    }
}

impl PerHeadRmsNormConfig {
    /// RMSNorm of `heads` heads of `head_dim` features, everything else at its default.
    pub fn new(heads: usize, head_dim: usize) -> Self {
        Self {
            heads,
            head_dim,
            epsilon: default::epsilon(),
            partial: None,
            zero_centered: false,
            rounding: Rounding::Once,
        }
    }

    /// Set [`epsilon`](Self::epsilon).
    pub fn with_epsilon(mut self, epsilon: f64) -> Self {
        self.epsilon = epsilon;
        self
    }

    /// Set [`partial`](Self::partial), the fraction of pRMSNorm.
    pub fn with_partial(mut self, partial: Option<f64>) -> Self {
        self.partial = partial;
        self
    }

    /// Set [`zero_centered`](Self::zero_centered).
    pub fn with_zero_centered(mut self, zero_centered: bool) -> Self {
        self.zero_centered = zero_centered;
        self
    }

    /// Set [`rounding`](Self::rounding).
    pub fn with_rounding(mut self, rounding: Rounding) -> Self {
        self.rounding = rounding;
        self
    }

    /// Initialise a new [`PerHeadRmsNorm`] on `device`.
    ///
    /// # Panics
    ///
    /// Naming the field and its value, if
    /// - `heads` or `head_dim` is 0;
    /// - `epsilon` is not finite or not greater than 0;
    /// - `partial` is not in (0, 1].
    pub fn init(&self, device: &Device) -> PerHeadRmsNorm {
        for (name, value) in [("heads", self.heads), ("head_dim", self.head_dim)] {
            assert!(
                value > 0,
                "PerHeadRmsNormConfig: {name} is 0, expected at least 1"
            );
        }
        let gamma = match self.zero_centered {
            true => Initializer::Zeros,
            false => Initializer::Ones,
        };
        let norm = PerHeadRmsNorm {
            gamma: gamma.init([self.heads, self.head_dim], device),
            epsilon: self.epsilon,
            partial: self.partial,
            zero_centered: self.zero_centered,
            rounding: self.rounding,
        };
        norm.options().assert_valid("PerHeadRmsNormConfig");
        norm
    }
}

/// Root mean square normalisation of every head by a scale of its own: QK-norm with one weight a head
/// and feature.
///
/// ```text
/// y_hj = x_hj / sqrt(mean(x_hi², i < k) + epsilon) · gamma_hj      k = head_dim, or ⌈head_dim·p⌉
/// ```
///
/// Where all heads share their scale, use [`RmsNorm`](super::RmsNorm) with `head_dim` features.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use burn_fused_norm::PerHeadRmsNormConfig;
///
/// let device = Device::flex();
/// let norm = PerHeadRmsNormConfig::new(8, 64).init(&device);
/// let queries = norm.forward(Tensor::<4>::ones([2, 16, 8, 64], &device));
/// assert_eq!(queries.dims(), [2, 16, 8, 64]);
/// assert_eq!(norm.to_string(), "PerHeadRmsNorm {heads: 8, head_dim: 64, epsilon: 0.00001, params: 512}");
/// ```
#[derive(Module, Debug)]
#[module(custom_display)]
pub struct PerHeadRmsNorm {
    /// The learnable scale, `[heads, head_dim]`.
    pub gamma: Param<Tensor<2>>,
    /// Added to the mean square inside the root.
    pub epsilon: f64,
    /// The fraction p of pRMSNorm; `None` for RMSNorm.
    pub partial: Option<f64>,
    /// The factor is `1 + gamma`.
    pub zero_centered: bool,
    /// Where a row is rounded to its type.
    #[module(skip)]
    pub rounding: Rounding,
}

impl PerHeadRmsNorm {
    /// Normalise every head of `x`.
    ///
    /// # Shapes
    ///
    /// - x: `[.., heads, head_dim]`
    /// - output: as `x`, of `x`'s type
    ///
    /// # Panics
    ///
    /// As [`per_head_rms_norm`] does.
    pub fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        per_head_rms_norm(x, super::values(&self.gamma), self.options())
    }

    fn options(&self) -> RmsNormOptions {
        RmsNormOptions::new(self.epsilon)
            .with_partial(self.partial)
            .with_zero_centered(self.zero_centered)
            .with_rounding(self.rounding)
    }
}

impl ModuleDisplay for PerHeadRmsNorm {
    fn custom_settings(&self) -> Option<DisplaySettings> {
        DisplaySettings::new()
            .with_new_line_after_attribute(false)
            .optional()
    }

    fn custom_content(&self, content: Content) -> Option<Content> {
        let [heads, head_dim] = self.gamma.shape().dims();
        let content = content
            .add("heads", &heads)
            .add("head_dim", &head_dim)
            .add("epsilon", &self.epsilon);
        super::conventions(content, self.partial, self.zero_centered, self.rounding).optional()
    }
}
