//! RMSNorm on the CubeCL runtimes: the fused kernels.

use burn::tensor::DType;
use burn_cubecl::CubeBackend;
use burn_cubecl::cubecl::ir::ElemType;
use burn_cubecl::cubecl::server::Handle;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::tensor::CubeTensor;
use fused_norm_kernels::cube;

use super::native::{expect, problem};
use super::{Affine, Gradient, Gradients, RmsNormOps, Settings, Wanted, decomposed};
use crate::backend::cube::{RowTensor, dense, elem, parameter};

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

/// The types of x, gamma and beta, where the kernels take all of them on this device. A type that
/// is not theirs (`Flex32`) goes through the default bodies.
struct Types {
    x: ElemType,
    gamma: Option<ElemType>,
    beta: Option<ElemType>,
}

impl Types {
    fn of(x: &CubeTensor, affine: &Affine<CubeBackend>) -> Option<Self> {
        let (gamma, beta) = affine.parameters();
        let optional = |parameter: Option<&CubeTensor>| match parameter {
            None => Some(None),
            Some(parameter) => elem(parameter).map(Some),
        };
        Some(Self {
            x: elem(x)?,
            gamma: optional(gamma)?,
            beta: optional(beta)?,
        })
    }

    fn affine(&self, affine: &Affine<CubeBackend>) -> cube::Affine {
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
    let x = RowTensor::new(x, types.x);
    let shape = x.shape();
    let args = cube::Forward {
        // The backward pass still needs x.
        in_place: !with_rstd && x.is_unique_dense(),
        x: x.rows(),
        affine: types.affine(affine),
        with_rstd,
        mapping: cube::Mapping::default(),
    };
    let normalised = expect(cube::forward(&client, &problem(&shape, settings), args));
    let rstd = normalised.rstd.map(|rstd| {
        let mut shape = shape.clone();
        let last = shape.num_dims() - 1;
        shape[last] = 1;
        x.beside(rstd, shape, statistic(dtype))
    });
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
    let dtype = x.dtype;
    for (name, found, expected) in [
        ("dy", dy.dtype, dtype),
        ("rstd", rstd.dtype, statistic(dtype)),
    ] {
        assert!(
            found == expected,
            "rms_norm_backward: {name} has type {found:?}, expected {expected:?}"
        );
    }
    let (gamma, beta) = affine.parameters();
    let x = RowTensor::new(x, types.x);
    let shape = x.shape();
    let args = cube::Backward {
        dy: RowTensor::new(dy, types.x).rows(),
        x: x.rows(),
        rstd: into_contiguous(rstd).handle,
        affine: types.affine(affine),
        wanted: cube::Wanted {
            dx: wanted.dx,
            dgamma: wanted.dgamma && gamma.is_some(),
            dbeta: wanted.dbeta && beta.is_some(),
        },
        mapping: cube::Mapping::default(),
    };
    let gradients = expect(cube::backward(&client, &problem(&shape, settings), args));
    Gradients {
        dx: match gradients.dx {
            Some(dx) => Gradient::Computed(x.beside(dx, shape, dtype)),
            None => Gradient::Skipped,
        },
        dgamma: column(gradients.dgamma, gamma),
        dbeta: column(gradients.dbeta, beta),
    }
}

/// A parameter's gradient as a tensor like the parameter.
fn column(gradient: Option<Handle>, parameter: Option<&CubeTensor>) -> Gradient<CubeBackend> {
    match gradient.zip(parameter) {
        Some((gradient, parameter)) => {
            let shape = parameter.meta.shape().clone();
            Gradient::Computed(dense(parameter, gradient, shape, parameter.dtype))
        }
        None => Gradient::Skipped,
    }
}

fn statistic(x: DType) -> DType {
    match x {
        DType::F64 => DType::F64,
        _ => DType::F32,
    }
}
