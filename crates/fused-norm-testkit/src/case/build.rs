//! How is a case written down, and how are cases derived from it?

use std::ops::Range;

use super::{AffineForm, Case, Fill, GammaLayout, Layout};
use crate::kind::FloatKind;

impl Case {
    /// A plain RMSNorm of dense tensors: pattern P, pattern Q for dy, no parameters, epsilon 1e-5.
    ///
    /// The name begins with `group` and goes on with everything that differs from this.
    pub fn new(group: &str, x_kind: FloatKind, shape: &[usize]) -> Self {
        Self {
            name: group.into(),
            shape: shape.to_vec(),
            x_layout: Layout::Dense,
            dy_layout: Layout::Dense,
            gamma_layout: GammaLayout::Dense,
            x_kind,
            gamma_kind: x_kind,
            beta_kind: x_kind,
            affine: AffineForm::None,
            partial: None,
            epsilon: 1e-5,
            fill: Fill::P,
            dy_fill: Fill::Q,
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

    /// Completes the name with everything that differs from [`Case::new`].
    pub(crate) fn named(mut self) -> Self {
        let shape: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        let mut parts = vec![self.name.clone(), self.x_kind.to_string(), shape.join("x")];
        let mut part = |differs: bool, text: String| {
            if differs {
                parts.push(text);
            }
        };
        part(
            self.affine.has_gamma(),
            format!("gamma_{}", self.gamma_kind),
        );
        part(self.affine.has_beta(), format!("beta_{}", self.beta_kind));
        if let Some(partial) = self.partial {
            part(true, format!("partial{partial}"));
        }
        part(self.epsilon != 1e-5, format!("epsilon{:e}", self.epsilon));
        part(self.fill != Fill::P, format!("x_{}", self.fill.name()));
        part(
            self.dy_fill != Fill::Q,
            format!("dy_{}", self.dy_fill.name()),
        );
        part(
            self.affine.has_gamma() && self.gamma_fill != Fill::G,
            format!("g_{}", self.gamma_fill.name()),
        );
        part(
            self.x_layout != Layout::Dense,
            format!("x_{}", self.x_layout.name()),
        );
        part(
            self.dy_layout != Layout::Dense,
            format!("dy_{}", self.dy_layout.name()),
        );
        part(
            self.gamma_layout != GammaLayout::Dense,
            format!("g_{}", self.gamma_layout.name()),
        );
        self.name = parts.join("-");
        self
    }

    /// The same case on other values of x and dy, given in row-major order. A layout that repeats
    /// elements cannot hold arbitrary values and becomes dense.
    pub(crate) fn with_values(&self, change: &str, x: Vec<f64>, dy: Vec<f64>) -> Self {
        let free = |layout: Layout| {
            if layout.repeats() {
                Layout::Dense
            } else {
                layout
            }
        };
        let mut case = self.clone();
        case.name = format!("{}+{change}", self.name);
        (case.fill, case.x_layout) = (Fill::given(x), free(self.x_layout));
        (case.dy_fill, case.dy_layout) = (Fill::given(dy), free(self.dy_layout));
        case
    }

    /// The same case on some of its rows, of the same rank.
    pub(crate) fn with_rows(&self, rows: Range<usize>) -> Self {
        let elements = rows.start * self.row_len()..rows.end * self.row_len();
        let name = format!("rows{}to{}", rows.start, rows.end);
        let mut case = self.with_values(
            &name,
            self.x()[elements.clone()].to_vec(),
            self.dy()[elements].to_vec(),
        );
        let last = case.shape.len() - 1;
        case.shape[..last].fill(1);
        if last > 0 {
            case.shape[last - 1] = rows.len();
        }
        case
    }
}
