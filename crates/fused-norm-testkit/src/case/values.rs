//! Which values do the tensors of a case hold, and how are they stored?

use super::{Base, Case, Fill, GammaLayout, Layout};
use crate::kind::FloatKind;

/// Every tensor of the shape of x, as logical values in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub struct Inputs {
    /// The normalised operand.
    pub x: Vec<f64>,
    /// Gradient of y.
    pub dy: Vec<f64>,
    /// The residual or the gate, where there is one.
    pub second: Option<Vec<f64>>,
    /// Gradient that flows into the sum from elsewhere, where there is one.
    pub dsum: Option<Vec<f64>>,
}

impl Case {
    /// Logical values of x in row-major order, rounded to `x_kind`.
    pub fn x(&self) -> Vec<f64> {
        rows_logical(&self.fill, self.x_layout, &self.shape, self.x_kind)
    }

    /// Logical values of dy in row-major order, rounded to `x_kind`.
    pub fn dy(&self) -> Vec<f64> {
        rows_logical(&self.dy_fill, self.dy_layout, &self.shape, self.x_kind)
    }

    /// Logical values of the residual or the gate in row-major order, rounded to `x_kind`; `None`
    /// when the variant has neither.
    pub fn second(&self) -> Option<Vec<f64>> {
        let values = || {
            rows_logical(
                &self.second_fill,
                self.second_layout,
                &self.shape,
                self.x_kind,
            )
        };
        self.variant.has_second().then(values)
    }

    /// Values of the gradient that flows into the sum from elsewhere, in row-major order, rounded to
    /// `x_kind`; `None` when the sum is not used, or there is none.
    pub fn dsum(&self) -> Option<Vec<f64>> {
        let fill = self.dsum_fill.as_ref()?;
        (self.variant == super::Variant::Add)
            .then(|| rows_logical(fill, Layout::Dense, &self.shape, self.x_kind))
    }

    /// All of these.
    pub fn inputs(&self) -> Inputs {
        Inputs {
            x: self.x(),
            dy: self.dy(),
            second: self.second(),
            dsum: self.dsum(),
        }
    }

    /// Values of gamma as they are stored, rounded to `gamma_kind`; `None` when the case has no
    /// gamma. A fill counts all of gamma as one row, so that no two rows of it are alike.
    pub fn gamma(&self) -> Option<Vec<f64>> {
        self.affine
            .has_gamma()
            .then(|| self.parameter(&self.gamma_fill, self.gamma_kind))
    }

    /// Values of beta, rounded to `beta_kind`; `None` when the case has no beta.
    pub fn beta(&self) -> Option<Vec<f64>> {
        self.affine
            .has_beta()
            .then(|| self.parameter(&Fill::B, self.beta_kind))
    }

    fn parameter(&self, fill: &Fill, kind: FloatKind) -> Vec<f64> {
        let len = self.gamma_shape().iter().product();
        match self.gamma_layout {
            GammaLayout::Expanded => rounded(vec![fill.values(1, 1)[0]; len], kind),
            _ => rounded(fill.values(len, len), kind),
        }
    }

    /// The dense tensor of which x is a view, and the steps that make the view.
    ///
    /// * For a dense layout the base is x itself and there are no steps.
    /// * For layouts that repeat elements, the base holds the fill: `BroadcastRows` has 1 for the
    ///   first axis, `BroadcastAll` has 1 for every axis, `Unfolded` has one axis less, its last of
    ///   length `(windows - 1) * step + row_len`.
    /// * For the others the base holds the values of x where the view shows them, NaN elsewhere.
    pub fn base_x(&self) -> Base {
        rows_base(&self.fill, self.x_layout, &self.shape, self.x_kind)
    }

    /// The dense tensor of which dy is a view; see [`Case::base_x`].
    pub fn base_dy(&self) -> Base {
        rows_base(&self.dy_fill, self.dy_layout, &self.shape, self.x_kind)
    }

    /// The dense tensor of which the residual or the gate is a view; see [`Case::base_x`].
    pub fn base_second(&self) -> Option<Base> {
        let base = || {
            rows_base(
                &self.second_fill,
                self.second_layout,
                &self.shape,
                self.x_kind,
            )
        };
        self.variant.has_second().then(base)
    }

    /// The tensor of the gradient that flows into the sum from elsewhere; always dense.
    pub fn base_dsum(&self) -> Option<Base> {
        self.dsum().map(|values| Base {
            shape: self.shape.clone(),
            values,
            steps: vec![],
        })
    }

    /// The dense tensor of which gamma is a view; see [`Case::base_x`].
    pub fn base_gamma(&self) -> Option<Base> {
        self.gamma().map(|values| self.parameter_base(&values))
    }

    /// The dense tensor of which beta is a view; see [`Case::base_x`].
    pub fn base_beta(&self) -> Option<Base> {
        self.beta().map(|values| self.parameter_base(&values))
    }

    fn parameter_base(&self, values: &[f64]) -> Base {
        let (shape, steps) = self.gamma_layout.plan(&self.gamma_shape());
        match self.gamma_layout {
            GammaLayout::Expanded => Base {
                shape,
                values: values[..1].to_vec(),
                steps,
            },
            _ => Base::scatter(shape, steps, values),
        }
    }
}

fn rounded(mut values: Vec<f64>, kind: FloatKind) -> Vec<f64> {
    values
        .iter_mut()
        .for_each(|value| *value = kind.round(*value));
    values
}

fn rows_logical(fill: &Fill, layout: Layout, shape: &[usize], kind: FloatKind) -> Vec<f64> {
    if layout.repeats() {
        return rows_base(fill, layout, shape, kind).apply().1;
    }
    rounded(
        fill.values(shape.iter().product(), shape[shape.len() - 1]),
        kind,
    )
}

fn rows_base(fill: &Fill, layout: Layout, shape: &[usize], kind: FloatKind) -> Base {
    let (base, steps) = layout.plan(shape);
    if layout.repeats() {
        let values = fill.values(base.iter().product(), base[base.len() - 1]);
        return Base {
            shape: base,
            values: rounded(values, kind),
            steps,
        };
    }
    Base::scatter(base, steps, &rows_logical(fill, layout, shape, kind))
}
