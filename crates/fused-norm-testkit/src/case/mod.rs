//! What is one test?
//!
//! A [`Case`] holds everything that a result depends on: shapes, kinds, arrangement in memory,
//! options and values. It says nothing about devices or libraries.

mod build;
mod fill;
mod layout;
#[cfg(test)]
mod tests;
mod view;

pub use fill::Fill;
pub use layout::{GammaLayout, Layout};
pub use view::{Base, ViewStep};

use crate::kind::FloatKind;
use crate::oracle::{self, Backward, Forward, Problem};

/// Which learnable parameters take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AffineForm {
    /// Neither gamma nor beta.
    None,
    /// Gamma alone.
    Scale,
    /// Gamma and beta.
    ScaleShift,
}

impl AffineForm {
    /// Every form.
    pub const ALL: [AffineForm; 3] = [Self::None, Self::Scale, Self::ScaleShift];

    /// Is there a gamma?
    pub fn has_gamma(self) -> bool {
        self != Self::None
    }

    /// Is there a beta?
    pub fn has_beta(self) -> bool {
        self == Self::ScaleShift
    }
}

/// A complete description of one test.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Unique and stable: what a filter selects by and reports print. Contains no spaces.
    pub name: String,
    /// Logical shape of x, y, dy and dx; the last axis is a row.
    pub shape: Vec<usize>,
    /// How x is stored.
    pub x_layout: Layout,
    /// How dy is stored.
    pub dy_layout: Layout,
    /// How gamma and beta are stored.
    pub gamma_layout: GammaLayout,
    /// Kind of x, y, dy and dx.
    pub x_kind: FloatKind,
    /// Kind of gamma and dgamma.
    pub gamma_kind: FloatKind,
    /// Kind of beta and dbeta.
    pub beta_kind: FloatKind,
    /// Which parameters take part.
    pub affine: AffineForm,
    /// The fraction p of pRMSNorm; `None` is RMSNorm.
    pub partial: Option<f64>,
    /// As the user gives it.
    pub epsilon: f64,
    /// Values of x. Where the layout of x repeats elements, this fills the base, and the logical
    /// values follow.
    pub fill: Fill,
    /// Values of dy, with the same rule for its layout.
    pub dy_fill: Fill,
    /// Values of gamma, with the same rule for its layout. Beta is always [`Fill::B`].
    pub gamma_fill: Fill,
}

impl Case {
    /// Features of a row.
    pub fn row_len(&self) -> usize {
        *self.shape.last().expect("rank 1 or more")
    }

    /// Number of rows: the product of all axes but the last.
    pub fn rows(&self) -> usize {
        self.shape[..self.shape.len() - 1].iter().product()
    }

    /// Number of elements of x.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// Leading features that the statistic reads.
    pub fn stat_len(&self) -> usize {
        self.partial
            .map_or(self.row_len(), |p| oracle::stat_len(self.row_len(), p))
    }

    /// The kind in which statistics and sums are computed.
    pub fn statistic(&self) -> FloatKind {
        self.x_kind.statistic()
    }

    /// Logical values of x in row-major order, rounded to `x_kind`.
    pub fn x(&self) -> Vec<f64> {
        rows_logical(&self.fill, self.x_layout, &self.shape, self.x_kind)
    }

    /// Logical values of dy in row-major order, rounded to `x_kind`.
    pub fn dy(&self) -> Vec<f64> {
        rows_logical(&self.dy_fill, self.dy_layout, &self.shape, self.x_kind)
    }

    /// Values of gamma, rounded to `gamma_kind`; `None` when the case has no gamma.
    pub fn gamma(&self) -> Option<Vec<f64>> {
        let values = || {
            column_values(
                &self.gamma_fill,
                self.gamma_layout,
                self.row_len(),
                self.gamma_kind,
            )
        };
        self.affine.has_gamma().then(values)
    }

    /// Values of beta, rounded to `beta_kind`; `None` when the case has no beta.
    pub fn beta(&self) -> Option<Vec<f64>> {
        let values = || column_values(&Fill::B, self.gamma_layout, self.row_len(), self.beta_kind);
        self.affine.has_beta().then(values)
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

    /// The dense tensor of which gamma is a view; see [`Case::base_x`].
    pub fn base_gamma(&self) -> Option<Base> {
        self.gamma()
            .map(|values| column_base(self.gamma_layout, &values))
    }

    /// The dense tensor of which beta is a view; see [`Case::base_x`].
    pub fn base_beta(&self) -> Option<Base> {
        self.beta()
            .map(|values| column_base(self.gamma_layout, &values))
    }

    /// The right results of the forward pass.
    pub fn forward(&self) -> Forward {
        self.with_problem(|problem| oracle::forward(&self.x(), problem))
    }

    /// The right results of the backward pass.
    pub fn backward(&self) -> Backward {
        self.with_problem(|problem| oracle::backward(&self.x(), &self.dy(), problem))
    }

    fn with_problem<T>(&self, run: impl FnOnce(&Problem<'_>) -> T) -> T {
        let (gamma, beta) = (self.gamma(), self.beta());
        run(&Problem {
            row_len: self.row_len(),
            stat_len: self.stat_len(),
            epsilon: self.statistic().round(self.epsilon),
            gamma: gamma.as_deref(),
            beta: beta.as_deref(),
        })
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

fn column_values(fill: &Fill, layout: GammaLayout, row_len: usize, kind: FloatKind) -> Vec<f64> {
    match layout {
        GammaLayout::Expanded => rounded(vec![fill.values(1, 1)[0]; row_len], kind),
        _ => rounded(fill.values(row_len, row_len), kind),
    }
}

fn column_base(layout: GammaLayout, values: &[f64]) -> Base {
    let (shape, steps) = layout.plan(values.len());
    match layout {
        GammaLayout::Expanded => Base {
            shape,
            values: values[..1].to_vec(),
            steps,
        },
        _ => Base::scatter(shape, steps, values),
    }
}
