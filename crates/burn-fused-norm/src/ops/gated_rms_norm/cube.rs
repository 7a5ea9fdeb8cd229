//! RMSNorm with a gate on the CubeCL runtimes: the fused kernels.

use burn_cubecl::CubeBackend;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::tensor::CubeTensor;
use fused_norm_kernels::cube::{self, Operand};

use super::native::{expect, problem};
use super::{GatedGradients, GatedRmsNormOps, GatedSettings, GatedWanted, decomposed};
use crate::backend::cube::{RowTensor, assert_types};
use crate::ops::rms_norm::Affine;
use crate::ops::rms_norm::contract::statistic_type;
use crate::ops::rms_norm::cube::{Types, column, rows_gradient};

impl GatedRmsNormOps for CubeBackend {
    fn gated_rms_norm(
        x: CubeTensor,
        gate: CubeTensor,
        affine: Affine<Self>,
        settings: GatedSettings,
    ) -> CubeTensor {
        match Types::of(&x, &affine) {
            Some(types) => forward(x, gate, &affine, types, settings, false).0,
            None => decomposed::gated_rms_norm::<Self>(x, gate, affine, settings).0,
        }
    }

    fn gated_rms_norm_with_rstd(
        x: CubeTensor,
        gate: CubeTensor,
        affine: Affine<Self>,
        settings: GatedSettings,
    ) -> (CubeTensor, CubeTensor) {
        match Types::of(&x, &affine) {
            Some(types) => {
                let (y, rstd) = forward(x, gate, &affine, types, settings, true);
                (y, rstd.expect("rstd was asked for"))
            }
            None => decomposed::gated_rms_norm::<Self>(x, gate, affine, settings),
        }
    }

    fn gated_rms_norm_backward(
        dy: CubeTensor,
        x: CubeTensor,
        gate: CubeTensor,
        rstd: CubeTensor,
        affine: Affine<Self>,
        settings: GatedSettings,
        wanted: GatedWanted,
    ) -> GatedGradients<Self> {
        match Types::of(&x, &affine) {
            Some(types) => {
                let tensors = [dy, x, gate, rstd];
                backward(tensors, &affine, types, settings, wanted)
            }
            None => decomposed::gated_rms_norm_backward::<Self>(
                dy, x, gate, rstd, affine, settings, wanted,
            ),
        }
    }
}

fn forward(
    x: CubeTensor,
    gate: CubeTensor,
    affine: &Affine<CubeBackend>,
    types: Types,
    settings: GatedSettings,
    with_rstd: bool,
) -> (CubeTensor, Option<CubeTensor>) {
    let GatedSettings { norm, order } = settings;
    let client = x.client.clone();
    let dtype = x.dtype;
    assert_types("gated_rms_norm", &[("gate", &gate, types.x)]);
    let [x, gate] = [x, gate].map(|tensor| RowTensor::new(tensor, types.x, norm.row_len));
    let shape = x.shape();
    let args = cube::Forward {
        x: x.rows(),
        operand: Operand::Gate(cube::Gate {
            rows: gate.rows(),
            order: order.into(),
        }),
        affine: types.affine(affine),
        with_rstd,
        in_place: false,
        mapping: cube::Mapping::default(),
    };
    let normalised = expect(cube::forward(&client, &problem(&shape, norm), args));
    let rstd = normalised
        .rstd
        .map(|rstd| x.beside(rstd, norm.rstd_shape(&shape), statistic_type(dtype)));
    (x.beside(normalised.y, shape, dtype), rstd)
}

fn backward(
    [dy, x, gate, rstd]: [CubeTensor; 4],
    affine: &Affine<CubeBackend>,
    types: Types,
    settings: GatedSettings,
    wanted: GatedWanted,
) -> GatedGradients<CubeBackend> {
    let GatedSettings { norm, order } = settings;
    let client = x.client.clone();
    let (gamma, beta) = affine.parameters();
    assert_types(
        "gated_rms_norm_backward",
        &[
            ("dy", &dy, types.x),
            ("gate", &gate, types.x),
            ("rstd", &rstd, types.statistic()),
        ],
    );
    let [dy, x, gate] = [dy, x, gate].map(|tensor| RowTensor::new(tensor, types.x, norm.row_len));
    let shape = x.shape();
    let args = cube::Backward {
        dy: dy.rows(),
        x: x.rows(),
        rstd: into_contiguous(rstd).handle,
        affine: types.affine(affine),
        gate: Some(cube::Gate {
            rows: gate.rows(),
            order: order.into(),
        }),
        wanted: cube::Wanted {
            dx: wanted.norm.dx,
            dgate: wanted.dgate,
            dgamma: wanted.norm.dgamma && gamma.is_some(),
            dbeta: wanted.norm.dbeta && beta.is_some(),
        },
        mapping: cube::Mapping::default(),
    };
    let gradients = expect(cube::backward(&client, &problem(&shape, norm), args));
    GatedGradients {
        dx: rows_gradient(gradients.dx, &x),
        dgate: rows_gradient(gradients.dgate, &x),
        dgamma: column(gradients.dgamma, gamma),
        dbeta: column(gradients.dbeta, beta),
    }
}
