//! RMSNorm of a sum on the CubeCL runtimes: the fused kernels.

use burn_cubecl::CubeBackend;
use burn_cubecl::tensor::CubeTensor;
use fused_norm_kernels::cube::{self, Operand};

use super::native::{expect, problem};
use super::{AddRmsNormOps, decomposed};
use crate::backend::cube::{RowTensor, assert_types};
use crate::ops::rms_norm::contract::statistic_type;
use crate::ops::rms_norm::cube::Types;
use crate::ops::rms_norm::{Affine, Settings};

impl AddRmsNormOps for CubeBackend {
    fn add_rms_norm(
        x: CubeTensor,
        residual: CubeTensor,
        affine: Affine<Self>,
        settings: Settings,
    ) -> (CubeTensor, CubeTensor) {
        let (y, sum, _) = match Types::of(&x, &affine) {
            Some(types) => forward(x, residual, &affine, types, settings, false),
            None => {
                let (y, sum, rstd) =
                    decomposed::add_rms_norm::<Self>(x, residual, affine, settings);
                (y, sum, Some(rstd))
            }
        };
        (y, sum)
    }

    fn add_rms_norm_with_rstd(
        x: CubeTensor,
        residual: CubeTensor,
        affine: Affine<Self>,
        settings: Settings,
    ) -> (CubeTensor, CubeTensor, CubeTensor) {
        match Types::of(&x, &affine) {
            Some(types) => {
                let (y, sum, rstd) = forward(x, residual, &affine, types, settings, true);
                (y, sum, rstd.expect("rstd was asked for"))
            }
            None => decomposed::add_rms_norm::<Self>(x, residual, affine, settings),
        }
    }
}

fn forward(
    x: CubeTensor,
    residual: CubeTensor,
    affine: &Affine<CubeBackend>,
    types: Types,
    settings: Settings,
    with_rstd: bool,
) -> (CubeTensor, CubeTensor, Option<CubeTensor>) {
    let client = x.client.clone();
    let dtype = x.dtype;
    assert_types("add_rms_norm", &[("residual", &residual, types.x)]);
    let x = RowTensor::new(x, types.x, settings.row_len);
    let residual = RowTensor::new(residual, types.x, settings.row_len);
    let shape = x.shape();
    let args = cube::Forward {
        x: x.rows(),
        operand: Operand::Residual(residual.rows()),
        affine: types.affine(affine),
        with_rstd,
        in_place: false,
        mapping: cube::Mapping::default(),
    };
    let normalised = expect(cube::forward(&client, &problem(&shape, settings), args));
    let sum = normalised.sum.expect("the sum is an output");
    let rstd = normalised
        .rstd
        .map(|rstd| x.beside(rstd, settings.rstd_shape(&shape), statistic_type(dtype)));
    (
        x.beside(normalised.y, shape.clone(), dtype),
        x.beside(sum, shape, dtype),
        rstd,
    )
}
