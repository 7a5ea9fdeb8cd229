//! The tensors of a case on a device.

use burn::backend::Dispatch;
use burn::backend::tensor::FloatTensor;
use burn::tensor::{Device, Gradients, Tensor};
use fused_norm_testkit::{Case, FloatKind, GammaForm, Values};

use crate::tensors::{read, view};

/// Everything that an operation may read, and the gradients that flow into its outputs.
#[derive(Clone)]
pub struct Inputs<const D: usize> {
    pub x: Tensor<D>,
    /// The residual or the gate.
    pub second: Option<Tensor<D>>,
    pub dy: Tensor<D>,
    pub dsum: Option<Tensor<D>>,
    pub gamma: Option<Parameter>,
    pub beta: Option<Parameter>,
}

/// gamma or beta.
#[derive(Clone)]
pub enum Parameter {
    /// `[d_model]`
    Row(Tensor<1>),
    /// `[heads, head_dim]`
    Heads(Tensor<2>),
}

impl<const D: usize> Inputs<D> {
    /// `B` is the rank of a view's base where a step changes the rank.
    pub fn new<const B: usize>(case: &Case, device: &Device) -> Self {
        let rows = |base| view::<B, D>(&base, case.x_kind, device);
        let parameter = |base, kind| match case.gamma_form {
            GammaForm::Heads => Parameter::Heads(view::<3, 2>(&base, kind, device)),
            _ => Parameter::Row(view::<2, 1>(&base, kind, device)),
        };
        Self {
            x: rows(case.base_x()),
            second: case.base_second().map(rows),
            dy: rows(case.base_dy()),
            dsum: case.base_dsum().map(rows),
            gamma: case
                .base_gamma()
                .map(|base| parameter(base, case.gamma_kind)),
            beta: case.base_beta().map(|base| parameter(base, case.beta_kind)),
        }
    }

    /// All values, one after the other.
    pub fn read(&self) -> Values {
        let mut values = read(self.x.clone()).0;
        let rows = [Some(&self.dy), self.second.as_ref(), self.dsum.as_ref()];
        for rows in rows.into_iter().flatten() {
            values.extend(read(rows.clone()).0);
        }
        for parameter in [&self.gamma, &self.beta].into_iter().flatten() {
            values.extend(parameter.clone().read().0);
        }
        values
    }
}

impl Parameter {
    /// For an operation that takes `[d_model]`.
    pub fn into_row(self) -> Tensor<1> {
        match self {
            Self::Row(tensor) => tensor,
            Self::Heads(_) => unreachable!("heads are normalised by a function of their own"),
        }
    }

    /// As the contract takes it.
    pub fn into_dispatch(self) -> FloatTensor<Dispatch> {
        match self {
            Self::Row(tensor) => tensor.into_dispatch(),
            Self::Heads(tensor) => tensor.into_dispatch(),
        }
    }

    pub fn set_require_grad(self, require: bool) -> Self {
        match self {
            Self::Row(tensor) => Self::Row(tensor.set_require_grad(require)),
            Self::Heads(tensor) => Self::Heads(tensor.set_require_grad(require)),
        }
    }

    /// The values and the kind of its gradient, if there is one.
    pub fn grad(&self, gradients: &Gradients) -> Option<(Values, FloatKind)> {
        match self {
            Self::Row(tensor) => tensor.grad(gradients).map(read),
            Self::Heads(tensor) => tensor.grad(gradients).map(read),
        }
    }

    fn read(self) -> (Values, FloatKind) {
        match self {
            Self::Row(tensor) => read(tensor),
            Self::Heads(tensor) => read(tensor),
        }
    }
}
