//! RMSNorm with a gate on NdArray: the native CPU kernels.

use burn::backend::ndarray::NdArrayTensor;
use burn::backend::{NdArray, TensorMetadata};
use fused_norm_kernels::cpu::{self, Normalised};

use super::native::{expect, problem, wanted_of};
use super::{GatedGradients, GatedRmsNormOps, GatedSettings, GatedWanted, OPERATION};
use crate::backend::ndarray::{
    DenseTensor, NdArrayElement, dense, gradient, parameter, with_element,
};
use crate::backend::parameters::Parameters;
use crate::ops::rms_norm::{Affine, Gradient};

impl GatedRmsNormOps for NdArray {
    fn gated_rms_norm(
        x: NdArrayTensor,
        gate: NdArrayTensor,
        affine: Affine<Self>,
        settings: GatedSettings,
    ) -> NdArrayTensor {
        with_element!(
            OPERATION,
            x.dtype(),
            forward(x, gate, affine, settings, false)
        )
        .0
    }

    fn gated_rms_norm_with_rstd(
        x: NdArrayTensor,
        gate: NdArrayTensor,
        affine: Affine<Self>,
        settings: GatedSettings,
    ) -> (NdArrayTensor, NdArrayTensor) {
        let (y, rstd) = with_element!(
            OPERATION,
            x.dtype(),
            forward(x, gate, affine, settings, true)
        );
        (y, rstd.expect("rstd was asked for"))
    }

    fn gated_rms_norm_backward(
        dy: NdArrayTensor,
        x: NdArrayTensor,
        gate: NdArrayTensor,
        rstd: NdArrayTensor,
        affine: Affine<Self>,
        settings: GatedSettings,
        wanted: GatedWanted,
    ) -> GatedGradients<Self> {
        with_element!(
            OPERATION,
            x.dtype(),
            backward([dy, x, gate, rstd], affine, settings, wanted)
        )
    }
}

fn forward<T: NdArrayElement<Statistic = T>>(
    x: NdArrayTensor,
    gate: NdArrayTensor,
    affine: Affine<NdArray>,
    settings: GatedSettings,
    with_rstd: bool,
) -> (NdArrayTensor, Option<NdArrayTensor>) {
    let GatedSettings { norm, order } = settings;
    let shape = x.shape();
    let parameters = Parameters::<T>::read(affine.parameters(), parameter);
    let (x, gate) = (DenseTensor::<T>::new(&x), DenseTensor::<T>::new(&gate));
    let Normalised { y, rstd } = expect(cpu::gated_forward(
        &problem(&shape, norm),
        x.rows(norm.row_len),
        cpu::Gate {
            rows: gate.rows(norm.row_len),
            order: order.into(),
        },
        parameters.affine(),
        with_rstd,
    ));
    let rstd = rstd.map(|rstd| dense(rstd, &norm.rstd_shape(&shape)));
    (dense(y, &shape), rstd)
}

fn backward<T: NdArrayElement<Statistic = T>>(
    tensors: [NdArrayTensor; 4],
    affine: Affine<NdArray>,
    settings: GatedSettings,
    wanted: GatedWanted,
) -> GatedGradients<NdArray> {
    let GatedSettings { norm, order } = settings;
    let parameters = Parameters::<T>::read(affine.parameters(), parameter);
    let [dy, x, gate, rstd] = tensors.each_ref().map(DenseTensor::<T>::new);
    let shape = tensors[1].shape();
    let gradients = expect(cpu::gated_backward(
        &problem(&shape, norm),
        dy.rows(norm.row_len),
        x.rows(norm.row_len),
        cpu::Gate {
            rows: gate.rows(norm.row_len),
            order: order.into(),
        },
        rstd.values(),
        parameters.affine(),
        wanted_of(&affine, wanted),
    ));
    let (gamma, beta) = affine.parameters();
    let like_x = |values: Option<_>| match values {
        Some(values) => Gradient::Computed(dense(values, &shape)),
        None => Gradient::Skipped,
    };
    GatedGradients {
        dx: like_x(gradients.dx),
        dgate: like_x(gradients.dgate),
        dgamma: Gradient::zip(gradients.dgamma, gamma, gradient),
        dbeta: Gradient::zip(gradients.dbeta, beta, gradient),
    }
}
