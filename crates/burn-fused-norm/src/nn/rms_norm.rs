use burn::config::Config;
use burn::module::{Content, DisplaySettings, Initializer, Module, ModuleDisplay, Param};
use burn::tensor::{Device, Tensor};

use crate::ops::rms_norm::{RmsNormOptions, rms_norm};

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
#[derive(Config, Debug)]
pub struct RmsNormConfig {
    /// Features of the last axis of the input.
    pub d_model: usize,
    /// Added to the mean square inside the root. Finite and greater than zero. Default: 1e-5
    #[config(default = 1e-5)]
    pub epsilon: f64,
    /// The fraction p of pRMSNorm, in (0, 1]: the statistic reads the first `⌈d_model·p⌉` features
    /// only. Default: `None`, which is RMSNorm, as is `Some(1.0)`.
    #[config(default = "None")]
    pub partial: Option<f64>,
    /// If a learnable scale (gamma), initialised to ones, is applied. Default: true
    #[config(default = true)]
    pub affine: bool,
    /// If a learnable shift (beta), initialised to zeros, is added. Needs `affine`. Default: false
    #[config(default = false)]
    pub bias: bool,
}

impl RmsNormConfig {
    /// The fraction that the paper recommends for pRMSNorm: 6.25 %
    /// (Zhang & Sennrich 2019, [arXiv:1910.07467](https://arxiv.org/abs/1910.07467)).
    pub const RECOMMENDED_PARTIAL: f64 = 0.0625;

    /// Initialise a new [`RmsNorm`] on `device`.
    ///
    /// # Panics
    ///
    /// Naming the field and its value, if
    /// - `d_model` is 0;
    /// - `epsilon` is not finite or not greater than 0;
    /// - `partial` is not in (0, 1];
    /// - `bias` is set without `affine`.
    pub fn init(&self, device: &Device) -> RmsNorm {
        assert!(
            self.d_model > 0,
            "RmsNormConfig: d_model is 0, expected at least 1"
        );
        self.options().assert_valid("RmsNormConfig");
        assert!(
            self.affine || !self.bias,
            "RmsNormConfig: bias is true with affine false, expected affine true (beta needs gamma)"
        );

        RmsNorm {
            gamma: self
                .affine
                .then(|| Initializer::Ones.init([self.d_model], device)),
            beta: self
                .bias
                .then(|| Initializer::Zeros.init([self.d_model], device)),
            d_model: self.d_model,
            epsilon: self.epsilon,
            partial: self.partial,
        }
    }

    fn options(&self) -> RmsNormOptions {
        RmsNormOptions::new(self.epsilon).with_partial(self.partial)
    }
}

/// Root mean square normalisation of the last axis, or of a part of it (pRMSNorm).
///
/// ```text
/// y_j = x_j / sqrt(mean(x_i², i < k) + epsilon) · gamma_j (+ beta_j)      k = d_model, or ⌈d_model·p⌉
/// ```
///
/// Drops in for [`burn::nn::RmsNorm`]: the same names, the same defaults, and records that load either
/// way (with gamma and without beta, as Burn's layer is). The statistic is computed in f32 (f64 for f64 inputs) and the output is rounded once.
///
/// Created by [`RmsNormConfig::init`], or from Burn's layer:
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use burn_fused_norm::{RmsNorm, RmsNormConfig};
///
/// let device = Device::flex();
/// let norm = RmsNormConfig::new(4).init(&device);
/// let y = norm.forward(Tensor::<2>::from_floats([[1.0, 2.0, 3.0, 4.0]], &device));
/// y.into_data().assert_approx_eq::<f32>(
///     &[[0.365148, 0.730296, 1.095444, 1.460592]].into(),
///     burn::tensor::Tolerance::default(),
/// );
///
/// let burns = burn::nn::RmsNormConfig::new(4).init(&device);
/// let ours = RmsNorm::from(burns);
/// assert_eq!(ours.to_string(), "RmsNorm {d_model: 4, epsilon: 0.00001, params: 4}");
/// ```
///
/// A record holds `gamma` and `beta` only. `epsilon` and `partial` come from the configuration: a
/// record loaded into a layer of another epsilon keeps that layer's epsilon.
#[derive(Module, Debug)]
#[module(custom_display)]
pub struct RmsNorm {
    /// The learnable scale, `[d_model]`, or `None` for no scale.
    pub gamma: Option<Param<Tensor<1>>>,
    /// The learnable shift, `[d_model]`, or `None` for no shift.
    pub beta: Option<Param<Tensor<1>>>,
    /// Features of the last axis of the input.
    pub d_model: usize,
    /// Added to the mean square inside the root.
    pub epsilon: f64,
    /// The fraction p of pRMSNorm; `None` for RMSNorm.
    pub partial: Option<f64>,
}

impl RmsNorm {
    /// Normalise the last axis of `x`.
    ///
    /// # Shapes
    ///
    /// - x: `[.., d_model]`
    /// - output: `[.., d_model]`, of `x`'s type
    ///
    /// # Panics
    ///
    /// If the last axis of `x` is not `d_model`, and as [`rms_norm`] does.
    pub fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        let features = x.shape()[D - 1];
        assert!(
            features == self.d_model,
            "RmsNorm: the last axis of x has {features} elements, expected d_model {}",
            self.d_model
        );

        rms_norm(
            x,
            self.gamma.as_ref().map(Param::val),
            self.beta.as_ref().map(Param::val),
            RmsNormOptions::new(self.epsilon).with_partial(self.partial),
        )
    }
}

/// Keeps gamma (its identity, device and gradient flag included) and epsilon.
impl From<burn::nn::RmsNorm> for RmsNorm {
    fn from(norm: burn::nn::RmsNorm) -> Self {
        let [d_model] = norm.gamma.shape().dims();
        Self {
            gamma: Some(norm.gamma),
            beta: None,
            d_model,
            epsilon: norm.epsilon,
            partial: None,
        }
    }
}

impl ModuleDisplay for RmsNorm {
    fn custom_settings(&self) -> Option<DisplaySettings> {
        DisplaySettings::new()
            .with_new_line_after_attribute(false)
            .optional()
    }

    fn custom_content(&self, content: Content) -> Option<Content> {
        let content = content
            .add("d_model", &self.d_model)
            .add("epsilon", &self.epsilon);
        match self.partial {
            Some(partial) => content.add("partial", &partial),
            None => content,
        }
        .optional()
    }
}
