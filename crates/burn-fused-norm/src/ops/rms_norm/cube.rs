//! RMSNorm on the CubeCL runtimes: the fused kernels.

use burn_cubecl::CubeBackend;
use burn_cubecl::cubecl::ir::ElemType;
use burn_cubecl::cubecl::server::Handle;
use burn_cubecl::kernel::{into_contiguous, untile};
use burn_cubecl::tensor::CubeTensor;
use fused_norm_kernels::cube;

use super::contract::statistic_type;
use super::native::{expect, problem};
use super::{Affine, Gradient, Gradients, RmsNormOps, Settings, Wanted, decomposed};
use crate::backend::cube::{
    RowTensor, assert_types, dense, elem, interleaved, interleaved_tensor, interleaving_of,
    parameter,
};
use crate::backend::interleaving::Interleaving;

impl RmsNormOps for CubeBackend {
    fn rms_norm(x: CubeTensor, affine: Affine<Self>, settings: Settings) -> CubeTensor {
        match Types::of(&x, &affine) {
            Some(types) => forward(x, &affine, types, settings, false).0,
            None => decomposed::rms_norm::<Self>(x, affine, settings).0,
        }
    }

    fn rms_norm_with_rstd(
        x: CubeTensor,
        affine: Affine<Self>,
        settings: Settings,
    ) -> (CubeTensor, CubeTensor) {
        match Types::of(&x, &affine) {
            Some(types) => {
                let (y, rstd) = forward(x, &affine, types, settings, true);
                (y, rstd.expect("asked for"))
            }
            None => decomposed::rms_norm::<Self>(x, affine, settings),
        }
    }

    fn rms_norm_backward(
        dy: CubeTensor,
        x: CubeTensor,
        rstd: CubeTensor,
        affine: Affine<Self>,
        settings: Settings,
        wanted: Wanted,
    ) -> Gradients<Self> {
        match Types::of(&x, &affine) {
            Some(types) => backward(dy, x, rstd, &affine, types, settings, wanted),
            None => decomposed::rms_norm_backward(dy, x, rstd, affine, settings, wanted),
        }
    }
}

/// The types of x, gamma and beta, where the kernels take all of them on this device: the door lets no
/// others in. An x without elements goes through the default bodies, which make no work of it: CubeCL
/// cannot copy a view without elements.
pub(in crate::ops) struct Types {
    pub x: ElemType,
    gamma: Option<ElemType>,
    beta: Option<ElemType>,
}

impl Types {
    pub fn of(x: &CubeTensor, affine: &Affine<CubeBackend>) -> Option<Self> {
        let (gamma, beta) = affine.parameters();
        let optional = |parameter: Option<&CubeTensor>| match parameter {
            None => Some(None),
            Some(parameter) => elem(parameter).map(Some),
        };
        if x.meta.shape().num_elements() == 0 {
            return None;
        }
        Some(Self {
            x: elem(x)?,
            gamma: optional(gamma)?,
            beta: optional(beta)?,
        })
    }

    /// The type of rstd.
    pub fn statistic(&self) -> ElemType {
        cube::statistic_type(self.x)
    }

    pub fn affine(&self, affine: &Affine<CubeBackend>) -> cube::Affine {
        let (gamma, beta) = affine.parameters();
        let gamma = gamma
            .zip(self.gamma)
            .map(|(gamma, elem)| parameter(gamma, elem));
        let beta = beta
            .zip(self.beta)
            .map(|(beta, elem)| parameter(beta, elem));
        match (gamma, beta) {
            (None, _) => cube::Affine::None,
            (Some(gamma), None) => cube::Affine::Scale { gamma },
            (Some(gamma), Some(beta)) => cube::Affine::ScaleShift { gamma, beta },
        }
    }
}

fn forward(
    x: CubeTensor,
    affine: &Affine<CubeBackend>,
    types: Types,
    settings: Settings,
    with_rstd: bool,
) -> (CubeTensor, Option<CubeTensor>) {
    let client = x.client.clone();
    let dtype = x.dtype;
    let x = untile(x);
    if let Some(interleaving) = interleaving(&x, settings) {
        let shape = x.meta.shape().clone();
        let args = cube::InterleavedForward {
            x: interleaved(&x, types.x, interleaving),
            affine: types.affine(affine),
            with_rstd,
        };
        let problem = problem(&shape, settings);
        let normalised = expect(cube::interleaved_forward(&client, &problem, args));
        let rstd = normalised
            .rstd
            .map(|rstd| dense(&x, rstd, settings.rstd_shape(&shape), statistic_type(dtype)));
        return (interleaved_tensor(&x, normalised.y, interleaving), rstd);
    }
    let x = RowTensor::new(x, types.x, settings.row_len);
    let shape = x.shape();
    let args = cube::Forward {
        // The backward pass still needs x.
        in_place: !with_rstd && x.is_unique_dense(),
        x: x.rows(),
        operand: cube::Operand::None,
        affine: types.affine(affine),
        with_rstd,
        mapping: cube::Mapping::default(),
    };
    let normalised = expect(cube::forward(&client, &problem(&shape, settings), args));
    let rstd = normalised
        .rstd
        .map(|rstd| x.beside(rstd, settings.rstd_shape(&shape), statistic_type(dtype)));
    (x.beside(normalised.y, shape, dtype), rstd)
}

fn backward(
    dy: CubeTensor,
    x: CubeTensor,
    rstd: CubeTensor,
    affine: &Affine<CubeBackend>,
    types: Types,
    settings: Settings,
    wanted: Wanted,
) -> Gradients<CubeBackend> {
    let client = x.client.clone();
    assert_types(
        "rms_norm_backward",
        &[("dy", &dy, types.x), ("rstd", &rstd, types.statistic())],
    );
    let (gamma, beta) = affine.parameters();
    let wanted = cube::Wanted {
        dx: wanted.dx,
        dgamma: wanted.dgamma && gamma.is_some(),
        dbeta: wanted.dbeta && beta.is_some(),
        dgate: false,
    };
    let rstd = into_contiguous(rstd).handle;
    let [dy, x] = [dy, x].map(untile);
    if let (Some(of_dy), Some(of_x)) = (interleaving(&dy, settings), interleaving(&x, settings))
        && of_dy.inner == of_x.inner
    {
        let args = cube::InterleavedBackward {
            dy: interleaved(&dy, types.x, of_dy),
            x: interleaved(&x, types.x, of_x),
            rstd,
            affine: types.affine(affine),
            wanted,
        };
        let problem = problem(x.meta.shape(), settings);
        let gradients = expect(cube::interleaved_backward(&client, &problem, args));
        return Gradients {
            dx: match gradients.dx {
                Some(dx) => Gradient::Computed(interleaved_tensor(&x, dx, of_x)),
                None => Gradient::Skipped,
            },
            dgamma: column(gradients.dgamma, gamma),
            dbeta: column(gradients.dbeta, beta),
        };
    }
    let x = RowTensor::new(x, types.x, settings.row_len);
    let shape = x.shape();
    let args = cube::Backward {
        dy: RowTensor::new(dy, types.x, settings.row_len).rows(),
        x: x.rows(),
        rstd,
        affine: types.affine(affine),
        wanted,
        gate: None,
        mapping: cube::Mapping::default(),
    };
    let gradients = expect(cube::backward(&client, &problem(&shape, settings), args));
    Gradients {
        dx: rows_gradient(gradients.dx, &x),
        dgamma: column(gradients.dgamma, gamma),
        dbeta: column(gradients.dbeta, beta),
    }
}

/// How x's rows lie side by side, if they do and the kernels can walk them so.
fn interleaving(x: &CubeTensor, settings: Settings) -> Option<Interleaving> {
    let whole_axis = x.meta.shape().last() == Some(&settings.row_len);
    (whole_axis && settings.gamma_rows == 1)
        .then(|| interleaving_of(x))
        .flatten()
}

/// An activation's gradient as a tensor like x.
pub(in crate::ops) fn rows_gradient(
    gradient: Option<Handle>,
    x: &RowTensor,
) -> Gradient<CubeBackend> {
    match gradient {
        Some(gradient) => Gradient::Computed(x.like(gradient)),
        None => Gradient::Skipped,
    }
}

/// A parameter's gradient as a tensor like the parameter.
pub(in crate::ops) fn column(
    gradient: Option<Handle>,
    parameter: Option<&CubeTensor>,
) -> Gradient<CubeBackend> {
    match gradient.zip(parameter) {
        Some((gradient, parameter)) => {
            let shape = parameter.meta.shape().clone();
            Gradient::Computed(dense(parameter, gradient, shape, parameter.dtype))
        }
        None => Gradient::Skipped,
    }
}
