//! RMSNorm of a sum on Flex: the native CPU kernels.

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use fused_norm_kernels::cpu::{self, Added};

use super::native::{expect, problem};
use super::{AddRmsNormOps, OPERATION};
use crate::backend::flex::{FlexElement, RowTensor, dense, parameter, with_element};
use crate::backend::parameters::Parameters;
use crate::ops::rms_norm::{Affine, Settings};

impl AddRmsNormOps for Flex {
    fn add_rms_norm(
        x: FlexTensor,
        residual: FlexTensor,
        affine: Affine<Self>,
        settings: Settings,
    ) -> (FlexTensor, FlexTensor) {
        let (y, sum, _) = with_element!(
            OPERATION,
            x.dtype(),
            forward(x, residual, affine, settings, false)
        );
        (y, sum)
    }

    fn add_rms_norm_with_rstd(
        x: FlexTensor,
        residual: FlexTensor,
        affine: Affine<Self>,
        settings: Settings,
    ) -> (FlexTensor, FlexTensor, FlexTensor) {
        let (y, sum, rstd) = with_element!(
            OPERATION,
            x.dtype(),
            forward(x, residual, affine, settings, true)
        );
        (y, sum, rstd.expect("rstd was asked for"))
    }
}

fn forward<T: FlexElement>(
    x: FlexTensor,
    residual: FlexTensor,
    affine: Affine<Flex>,
    settings: Settings,
    with_rstd: bool,
) -> (FlexTensor, FlexTensor, Option<FlexTensor>)
where
    T::Statistic: FlexElement,
{
    let shape = x.layout().shape().clone();
    let problem = problem(&shape, settings);
    let parameters = Parameters::<T::Statistic>::read(affine.parameters(), parameter);
    let x = RowTensor::new(x, settings.row_len);
    let residual = RowTensor::new(residual, settings.row_len);
    let Added { y, sum, rstd } = expect(cpu::add_forward(
        &problem,
        x.rows::<T>(),
        residual.rows::<T>(),
        parameters.affine(),
        with_rstd,
    ));
    let rstd = rstd.map(|rstd| dense(rstd, settings.rstd_shape(&shape)));
    (dense(y, shape.clone()), dense(sum, shape), rstd)
}
