//! Where are the rows in a tensor?
//!
//! Rows are numbered in the order of the axes outside them, the axes behind the normalised one
//! included: in row order the tensor is `[rows, row_len]`, whatever the axis.

use super::{AffineForm, Case, GammaForm, Rounding, Variant};
use crate::oracle;

impl Case {
    /// Length of the normalised axis.
    pub fn d_model(&self) -> usize {
        self.shape[self.axis_index()]
    }

    /// Features of a row: the normalised axis, or one of the groups it is cut into.
    pub fn row_len(&self) -> usize {
        match self.gamma_form {
            GammaForm::Groups(groups) => self.d_model() / groups,
            _ => self.d_model(),
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.elements() / self.row_len()
    }

    /// Number of elements of x.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// Leading features of a row that the statistic reads.
    pub fn stat_len(&self) -> usize {
        self.partial
            .map_or(self.row_len(), |p| oracle::stat_len(self.row_len(), p))
    }

    /// Rows of gamma and beta: row `r` of the tensor takes row `r % gamma_rows` of them.
    pub fn gamma_rows(&self) -> usize {
        match self.gamma_form {
            GammaForm::Row => 1,
            GammaForm::Groups(groups) => groups,
            GammaForm::Heads => self.shape[self.shape.len() - 2],
        }
    }

    /// Shape of gamma and beta: `[d_model]`, or `[heads, head_dim]` with [`GammaForm::Heads`].
    pub fn gamma_shape(&self) -> Vec<usize> {
        match self.gamma_form {
            GammaForm::Heads => self.shape[self.shape.len() - 2..].to_vec(),
            _ => vec![self.d_model()],
        }
    }

    /// Elements behind the normalised axis: rows that lie side by side.
    pub fn inner(&self) -> usize {
        self.shape[self.axis_index() + 1..].iter().product()
    }

    /// Is it the operation without any convention or second operand: gamma around 1 along the last
    /// axis, rounded once?
    pub fn is_plain(&self) -> bool {
        self.variant == Variant::Plain
            && !self.zero_centered
            && self.rounding == Rounding::Once
            && self.gamma_form == GammaForm::Row
            && self.axis == 0
    }

    /// Does y come from a chain of rounded steps? Without gamma there is only one.
    pub(crate) fn rounds_before_gamma(&self) -> bool {
        self.rounding == Rounding::BeforeGamma && self.affine != AffineForm::None
    }

    /// The normalised axis, counted from the front.
    fn axis_index(&self) -> usize {
        self.shape.len() - 1 - self.axis
    }

    /// Elements of the smallest part of the tensor that can stand alone: whole rows that lie side by
    /// side, and a whole turn of the rows of gamma.
    pub(crate) fn unit_len(&self) -> usize {
        self.unit_shape().iter().product()
    }

    /// The axes that make such a part.
    pub(crate) fn unit_shape(&self) -> &[usize] {
        let axes = match self.gamma_form {
            GammaForm::Heads => 2,
            _ => self.axis + 1,
        };
        &self.shape[self.shape.len() - axes..]
    }

    /// Number of such parts.
    pub(crate) fn units(&self) -> usize {
        self.shape[..self.shape.len() - self.unit_shape().len()]
            .iter()
            .product()
    }

    /// Row and column of an element, given its index in row-major order of the axes.
    pub fn row_and_column(&self, index: usize) -> (usize, usize) {
        let (inner, n) = (self.inner(), self.row_len());
        let (outer, rest) = (index / (inner * n), index % (inner * n));
        (outer * inner + rest % inner, rest / inner)
    }

    /// Values of the tensor, given in row-major order of its axes, row after row.
    pub fn in_rows(&self, values: &[f64]) -> Vec<f64> {
        self.exchange(values, self.row_len(), self.inner())
    }

    /// The reverse of [`Case::in_rows`].
    pub fn in_axes(&self, values: &[f64]) -> Vec<f64> {
        self.exchange(values, self.inner(), self.row_len())
    }

    /// Transposes each of the matrices `[first, second]` that follow each other in `values`.
    fn exchange(&self, values: &[f64], first: usize, second: usize) -> Vec<f64> {
        if first == 1 || second == 1 || values.is_empty() {
            return values.to_vec();
        }
        let matrices = values.chunks_exact(first * second);
        matrices
            .flat_map(|matrix| {
                let column = move |j: usize| matrix[j..].iter().step_by(second).copied();
                (0..second).flat_map(column)
            })
            .collect()
    }
}
