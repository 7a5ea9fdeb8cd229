use core::fmt::{self, Display, Formatter};

use burn::config::{Config, config_to_json};
use burn::module::Initializer;
use burn::serde::{Deserialize, Serialize};
use burn::tensor::Device;

use super::RmsNorm;
use crate::ops::rms_norm::{RmsNormOptions, Rounding};

/// Configuration of an [`RmsNorm`] layer, created by [`init`](RmsNormConfig::init).
///
/// ```
/// use burn_fused_norm::RmsNormConfig;
///
/// let rms = RmsNormConfig::new(512);
/// let prms = RmsNormConfig::new(512).with_partial(Some(RmsNormConfig::RECOMMENDED_PARTIAL));
/// assert_eq!(rms.epsilon, 1e-5);
/// assert_eq!(prms.partial, Some(0.0625));
/// ```
///
/// A saved configuration need not name more than `d_model`: one of [`burn::nn::RmsNormConfig`] loads, and
/// so does one of a version that had fewer options.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(crate = "burn::serde")]
pub struct RmsNormConfig {
    /// Length of the normalised axis: the last one, unless `axis` says otherwise.
    pub d_model: usize,
    /// Added to the mean square inside the root. Finite and greater than zero. Default: 1e-5
    #[serde(default = "default::epsilon")]
    pub epsilon: f64,
    /// The fraction p of pRMSNorm, in (0, 1]: the statistic reads the first `⌈d_model·p⌉` features
    /// only, and of `groups` the first `⌈d_model/groups·p⌉` of each. Default: `None`, which is RMSNorm, as is
    /// `Some(1.0)`.
    #[serde(default)]
    pub partial: Option<f64>,
    /// If a learnable scale (gamma), initialised to ones, is applied. Default: true
    #[serde(default = "default::affine")]
    pub affine: bool,
    /// If a learnable shift (beta), initialised to zeros, is added. Needs `affine`. Default: false
    #[serde(default)]
    pub bias: bool,
    /// If gamma is stored around 0 and initialised to zeros: the factor is `1 + gamma`, formed in f32
    /// (Gemma, Qwen3-Next). Default: false
    #[serde(default)]
    pub zero_centered: bool,
    /// Where a row is rounded to its type: once, or after every step as in LLaMA's own code, which
    /// [`forward_gated`](super::RmsNorm::forward_gated) refuses. Default: once
    #[serde(default)]
    pub rounding: Rounding,
    /// Equal parts of `d_model`, each with a statistic of its own (Mamba-2). Default: 1
    #[serde(default = "default::groups")]
    pub groups: usize,
    /// The normalised axis, counted from the last, which is 0: the channels of `[N, C, H, W]` are at 2.
    /// Default: 0
    #[serde(default)]
    pub axis: usize,
}

/// What a field is that neither the program nor a saved configuration names.
pub(super) mod default {
    pub fn epsilon() -> f64 {
        1e-5
    }

    pub fn affine() -> bool {
        true
    }

    pub fn groups() -> usize {
        1
    }
}

impl Config for RmsNormConfig {}

/// As JSON.
impl Display for RmsNormConfig {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&config_to_json(self))
    }
}

/// Keeps `d_model` and epsilon.
impl From<burn::nn::RmsNormConfig> for RmsNormConfig {
    fn from(config: burn::nn::RmsNormConfig) -> Self {
        Self::new(config.d_model).with_epsilon(config.epsilon)
    }
}

impl RmsNormConfig {
    /// The fraction that the paper recommends for pRMSNorm: 6.25 %
    /// (Zhang & Sennrich 2019, [arXiv:1910.07467](https://arxiv.org/abs/1910.07467)).
    pub const RECOMMENDED_PARTIAL: f64 = 0.0625;

    /// RMSNorm of `d_model` features, everything else at its default.
    pub fn new(d_model: usize) -> Self {
        Self {
            d_model,
            epsilon: default::epsilon(),
            partial: None,
            affine: default::affine(),
            bias: false,
            zero_centered: false,
            rounding: Rounding::Once,
            groups: default::groups(),
            axis: 0,
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

    /// Set [`affine`](Self::affine): with gamma, or without.
    pub fn with_affine(mut self, affine: bool) -> Self {
        self.affine = affine;
        self
    }

    /// Set [`bias`](Self::bias): with beta, or without.
    pub fn with_bias(mut self, bias: bool) -> Self {
        self.bias = bias;
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

    /// Set [`groups`](Self::groups).
    pub fn with_groups(mut self, groups: usize) -> Self {
        self.groups = groups;
        self
    }

    /// Set [`axis`](Self::axis), counted from the last.
    pub fn with_axis(mut self, axis: usize) -> Self {
        self.axis = axis;
        self
    }

    /// Initialise a new [`RmsNorm`] on `device`.
    ///
    /// # Panics
    ///
    /// Naming the field and its value, if
    /// - `d_model` is 0;
    /// - `epsilon` is not finite or not greater than 0;
    /// - `partial` is not in (0, 1];
    /// - `bias` or `zero_centered` is set without `affine`;
    /// - `groups` does not divide `d_model`.
    pub fn init(&self, device: &Device) -> RmsNorm {
        assert!(
            self.d_model > 0,
            "RmsNormConfig: d_model is 0, expected at least 1"
        );
        self.options().assert_valid("RmsNormConfig");
        self.options().assert_groups("RmsNormConfig", self.d_model);
        assert!(
            self.affine || !self.bias,
            "RmsNormConfig: bias is true with affine false, expected affine true (beta needs gamma)"
        );
        assert!(
            self.affine || !self.zero_centered,
            "RmsNormConfig: zero_centered is true with affine false, expected affine true (there is no gamma to centre)"
        );

        let gamma = match self.zero_centered {
            true => Initializer::Zeros,
            false => Initializer::Ones,
        };
        RmsNorm {
            gamma: self.affine.then(|| gamma.init([self.d_model], device)),
            beta: self
                .bias
                .then(|| Initializer::Zeros.init([self.d_model], device)),
            d_model: self.d_model,
            epsilon: self.epsilon,
            partial: self.partial,
            zero_centered: self.zero_centered,
            rounding: self.rounding,
            groups: self.groups,
            axis: self.axis,
        }
    }

    fn options(&self) -> RmsNormOptions {
        RmsNormOptions::new(self.epsilon)
            .with_partial(self.partial)
            .with_zero_centered(self.zero_centered)
            .with_rounding(self.rounding)
            .with_groups(self.groups)
            .with_axis(self.axis)
    }
}
