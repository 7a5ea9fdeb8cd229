use burn::module::{Content, DisplaySettings, Module, ModuleDisplay, Param};
use burn::tensor::Tensor;

use crate::ops::add_rms_norm::add_rms_norm;
use crate::ops::gated_rms_norm::{GateOrder, gated_rms_norm};
use crate::ops::rms_norm::{RmsNormOptions, Rounding, rms_norm};

/// Root mean square normalisation of the last axis, by all of it or by a part (pRMSNorm), or of another
/// axis.
///
/// ```text
/// y_j = x_j / sqrt(mean(x_i², i < k) + epsilon) · gamma_j (+ beta_j)      k = d_model, or ⌈d_model·p⌉
/// ```
///
/// Drops in for [`burn::nn::RmsNorm`]: the same names, the same defaults, and records that load either
/// way (with gamma and without beta, as Burn's layer is). The statistic is computed in f32 (f64 for f64 inputs) and the output is rounded once.
///
/// Created by [`RmsNormConfig::init`](super::RmsNormConfig::init), or from Burn's layer:
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
/// A record holds `gamma` and `beta` only. Everything else comes from the configuration: a record
/// loaded into a layer of another epsilon keeps that layer's epsilon.
#[derive(Module, Debug)]
#[module(custom_display)]
pub struct RmsNorm {
    /// The learnable scale, `[d_model]`, or `None` for no scale.
    pub gamma: Option<Param<Tensor<1>>>,
    /// The learnable shift, `[d_model]`, or `None` for no shift.
    pub beta: Option<Param<Tensor<1>>>,
    /// Length of the normalised axis: the last one, unless `axis` says otherwise.
    pub d_model: usize,
    /// Added to the mean square inside the root.
    pub epsilon: f64,
    /// The fraction p of pRMSNorm; `None` for RMSNorm.
    pub partial: Option<f64>,
    /// The factor is `1 + gamma`.
    pub zero_centered: bool,
    /// Where a row is rounded to its type.
    #[module(skip)]
    pub rounding: Rounding,
    /// Equal parts of `d_model`, each with a statistic of its own.
    pub groups: usize,
    /// The normalised axis, counted from the last.
    pub axis: usize,
}

impl RmsNorm {
    /// Normalise the last axis of `x`, or that of the configuration.
    ///
    /// # Shapes
    ///
    /// - x: `[.., d_model]`; with another axis than the last, `d_model` is the length of that
    /// - output: as `x`, of `x`'s type
    ///
    /// # Panics
    ///
    /// If the axis of `x` has not `d_model` elements, and as [`rms_norm`] does.
    pub fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        self.assert_features(&x);
        let (gamma, beta) = self.parameters();
        rms_norm(x, gamma, beta, self.options())
    }

    /// Add `residual` to `x` and normalise the sum: the end of a residual branch and the norm of the
    /// next, in one pass. Returns the normalised sum, and the sum.
    ///
    /// # Shapes
    ///
    /// - x, residual: of one shape and type, as [`forward`](Self::forward) takes it
    /// - outputs: as `x`
    ///
    /// # Panics
    ///
    /// If the axis of `x` has not `d_model` elements, and as [`add_rms_norm`] does.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use burn_fused_norm::RmsNormConfig;
    ///
    /// let device = Device::flex();
    /// let norm = RmsNormConfig::new(8).init(&device);
    /// let (branch, stream) = (Tensor::<2>::ones([2, 8], &device), Tensor::ones([2, 8], &device));
    /// let (normed, stream) = norm.forward_add(branch, stream);
    /// assert_eq!((normed.dims(), stream.dims()), ([2, 8], [2, 8]));
    /// ```
    pub fn forward_add<const D: usize>(
        &self,
        x: Tensor<D>,
        residual: Tensor<D>,
    ) -> (Tensor<D>, Tensor<D>) {
        self.assert_features(&x);
        let (gamma, beta) = self.parameters();
        add_rms_norm(x, residual, gamma, beta, self.options())
    }

    /// Normalise `x` with a gate beside it: `norm(x)·silu(gate)`, or `norm(x·silu(gate))`.
    ///
    /// # Shapes
    ///
    /// - x, gate: of one shape and type, as [`forward`](Self::forward) takes it
    /// - output: as `x`
    ///
    /// # Panics
    ///
    /// If the axis of `x` has not `d_model` elements, and as [`gated_rms_norm`] does.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use burn_fused_norm::{GateOrder, RmsNormConfig};
    ///
    /// let device = Device::flex();
    /// let norm = RmsNormConfig::new(2).with_epsilon(1e-6).init(&device);
    /// let x = Tensor::<2>::from_floats([[3.0, 4.0]], &device);
    /// let gate = Tensor::from_floats([[0.0, 100.0]], &device);
    /// let y = norm.forward_gated(x, gate, GateOrder::AfterNorm);
    /// y.into_data().assert_approx_eq::<f32>(
    ///     &[[0.0, 113.137085]].into(),
    ///     burn::tensor::Tolerance::default(),
    /// );
    /// ```
    pub fn forward_gated<const D: usize>(
        &self,
        x: Tensor<D>,
        gate: Tensor<D>,
        order: GateOrder,
    ) -> Tensor<D> {
        self.assert_features(&x);
        let (gamma, beta) = self.parameters();
        gated_rms_norm(x, gate, gamma, beta, order, self.options())
    }

    fn assert_features<const D: usize>(&self, x: &Tensor<D>) {
        assert!(
            self.axis < D,
            "RmsNorm: axis is {} from the last, x has {D} axes",
            self.axis
        );
        let features = x.shape()[D - 1 - self.axis];
        let axis = match self.axis {
            0 => "the last axis".into(),
            axis => alloc::format!("axis {axis} from the last"),
        };
        assert!(
            features == self.d_model,
            "RmsNorm: {axis} of x has {features} elements, expected d_model {}",
            self.d_model
        );
    }

    fn parameters(&self) -> (Option<Tensor<1>>, Option<Tensor<1>>) {
        (
            self.gamma.as_ref().map(super::values),
            self.beta.as_ref().map(super::values),
        )
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
            zero_centered: false,
            rounding: Rounding::Once,
            groups: 1,
            axis: 0,
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
        let mut content =
            super::conventions(content, self.partial, self.zero_centered, self.rounding);
        if self.groups != 1 {
            content = content.add("groups", &self.groups);
        }
        if self.axis != 0 {
            content = content.add("axis", &self.axis);
        }
        content.optional()
    }
}
