//! RMSNorm of a sum on NdArray: the native CPU kernels.

use burn::backend::ndarray::NdArrayTensor;
use burn::backend::{NdArray, TensorMetadata};
use fused_norm_kernels::cpu::{self, Added};

use super::native::{expect, problem};
use super::{AddRmsNormOps, OPERATION};
use crate::backend::ndarray::{DenseTensor, NdArrayElement, dense, parameter, with_element};
use crate::backend::parameters::Parameters;
use crate::ops::rms_norm::{Affine, Settings};

impl AddRmsNormOps for NdArray {
    fn add_rms_norm(
        x: NdArrayTensor,
        residual: NdArrayTensor,
        affine: Affine<Self>,
        settings: Settings,
    ) -> (NdArrayTensor, NdArrayTensor) {
        let (y, sum, _) = with_element!(
            OPERATION,
            x.dtype(),
            forward(x, residual, affine, settings, false)
        );
        (y, sum)
    }

    fn add_rms_norm_with_rstd(
        x: NdArrayTensor,
        residual: NdArrayTensor,
        affine: Affine<Self>,
        settings: Settings,
    ) -> (NdArrayTensor, NdArrayTensor, NdArrayTensor) {
        let (y, sum, rstd) = with_element!(
            OPERATION,
            x.dtype(),
            forward(x, residual, affine, settings, true)
        );
        (y, sum, rstd.expect("rstd was asked for"))
    }
}

fn forward<T: NdArrayElement<Statistic = T>>(
    x: NdArrayTensor,
    residual: NdArrayTensor,
    affine: Affine<NdArray>,
    settings: Settings,
    with_rstd: bool,
) -> (NdArrayTensor, NdArrayTensor, Option<NdArrayTensor>) {
    let shape = x.shape();
    let problem = problem(&shape, settings);
    let parameters = Parameters::<T>::read(affine.parameters(), parameter);
    let (x, residual) = (DenseTensor::<T>::new(&x), DenseTensor::<T>::new(&residual));
    let Added { y, sum, rstd } = expect(cpu::add_forward(
        &problem,
        x.rows(settings.row_len),
        residual.rows(settings.row_len),
        parameters.affine(),
        with_rstd,
    ));
    let rstd = rstd.map(|rstd| dense(rstd, &settings.rstd_shape(&shape)));
    (dense(y, &shape), dense(sum, &shape), rstd)
}
