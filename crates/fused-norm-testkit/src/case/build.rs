//! How is a case written down?

use super::{AffineForm, Case, Fill, GammaForm, GammaLayout, Layout, Rounding, Variant};
use crate::kind::FloatKind;

impl Case {
    /// A plain RMSNorm of dense tensors: pattern P, pattern Q for dy, R for a second operand, no
    /// parameters, epsilon 1e-5.
    ///
    /// The name begins with `group` and goes on with everything that differs from this.
    pub fn new(group: &str, x_kind: FloatKind, shape: &[usize]) -> Self {
        Self {
            name: group.into(),
            shape: shape.to_vec(),
            axis: 0,
            variant: Variant::Plain,
            x_layout: Layout::Dense,
            dy_layout: Layout::Dense,
            second_layout: Layout::Dense,
            gamma_layout: GammaLayout::Dense,
            x_kind,
            gamma_kind: x_kind,
            beta_kind: x_kind,
            affine: AffineForm::None,
            gamma_form: GammaForm::Row,
            zero_centered: false,
            rounding: Rounding::Once,
            partial: None,
            epsilon: 1e-5,
            fill: Fill::P,
            dy_fill: Fill::Q,
            second_fill: Fill::R,
            dsum_fill: None,
            gamma_fill: Fill::G,
        }
    }

    /// Sets which parameters take part.
    pub fn affine(mut self, affine: AffineForm) -> Self {
        self.affine = affine;
        self
    }

    /// Sets the kinds of gamma and beta.
    pub fn parameter_kinds(mut self, gamma: FloatKind, beta: FloatKind) -> Self {
        (self.gamma_kind, self.beta_kind) = (gamma, beta);
        self
    }

    /// Sets the fraction p.
    pub fn partial(mut self, partial: Option<f64>) -> Self {
        self.partial = partial;
        self
    }

    /// Sets epsilon.
    pub fn epsilon(mut self, epsilon: f64) -> Self {
        self.epsilon = epsilon;
        self
    }

    /// Sets the values of x.
    pub fn fill(mut self, fill: Fill) -> Self {
        self.fill = fill;
        self
    }

    /// Sets the values of dy.
    pub fn dy_fill(mut self, fill: Fill) -> Self {
        self.dy_fill = fill;
        self
    }

    /// Sets the values of gamma.
    pub fn gamma_fill(mut self, fill: Fill) -> Self {
        self.gamma_fill = fill;
        self
    }

    /// Sets how x, dy and the parameters are stored.
    pub fn layouts(mut self, x: Layout, dy: Layout, gamma: GammaLayout) -> Self {
        (self.x_layout, self.dy_layout, self.gamma_layout) = (x, dy, gamma);
        self
    }

    /// Sets the operation.
    pub fn variant(mut self, variant: Variant) -> Self {
        self.variant = variant;
        self
    }

    /// Sets how the residual or the gate is stored.
    pub fn second_layout(mut self, layout: Layout) -> Self {
        self.second_layout = layout;
        self
    }

    /// Sets the values of the residual or the gate.
    pub fn second_fill(mut self, fill: Fill) -> Self {
        self.second_fill = fill;
        self
    }

    /// Sets the values of the gradient that flows into the sum from elsewhere.
    pub fn dsum_fill(mut self, fill: Option<Fill>) -> Self {
        self.dsum_fill = fill;
        self
    }

    /// Sets whether the factor is `1 + gamma`.
    pub fn zero_centered(mut self, zero_centered: bool) -> Self {
        self.zero_centered = zero_centered;
        self
    }

    /// Sets where a row is rounded on the way to y.
    pub fn rounding(mut self, rounding: Rounding) -> Self {
        self.rounding = rounding;
        self
    }

    /// Sets which rows share a row of gamma and beta.
    pub fn gamma_form(mut self, form: GammaForm) -> Self {
        self.gamma_form = form;
        self
    }

    /// Sets the normalised axis, counted from the end.
    pub fn axis(mut self, axis: usize) -> Self {
        self.axis = axis;
        self
    }
}
