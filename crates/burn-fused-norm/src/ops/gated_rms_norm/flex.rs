//! RMSNorm with a gate on Flex: the native CPU kernels.

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use fused_norm_kernels::cpu::{self, Normalised};

use super::native::{expect, problem, wanted_of};
use super::{GatedGradients, GatedRmsNormOps, GatedSettings, GatedWanted, OPERATION};
use crate::backend::flex::{FlexElement, RowTensor, dense, gradient, parameter, with_element};
use crate::backend::parameters::Parameters;
use crate::ops::rms_norm::{Affine, Gradient};

impl GatedRmsNormOps for Flex {
    fn gated_rms_norm(
        x: FlexTensor,
        gate: FlexTensor,
        affine: Affine<Self>,
        settings: GatedSettings,
    ) -> FlexTensor {
        with_element!(
            OPERATION,
            x.dtype(),
            forward(x, gate, affine, settings, false)
        )
        .0
    }

    fn gated_rms_norm_with_rstd(
        x: FlexTensor,
        gate: FlexTensor,
        affine: Affine<Self>,
        settings: GatedSettings,
    ) -> (FlexTensor, FlexTensor) {
        let (y, rstd) = with_element!(
            OPERATION,
            x.dtype(),
            forward(x, gate, affine, settings, true)
        );
        (y, rstd.expect("rstd was asked for"))
    }

    fn gated_rms_norm_backward(
        dy: FlexTensor,
        x: FlexTensor,
        gate: FlexTensor,
        rstd: FlexTensor,
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

fn forward<T: FlexElement>(
    x: FlexTensor,
    gate: FlexTensor,
    affine: Affine<Flex>,
    settings: GatedSettings,
    with_rstd: bool,
) -> (FlexTensor, Option<FlexTensor>)
where
    T::Statistic: FlexElement,
{
    let GatedSettings { norm, order } = settings;
    let shape = x.layout().shape().clone();
    let parameters = Parameters::<T::Statistic>::read(affine.parameters(), parameter);
    let [x, gate] = [x, gate].map(|tensor| RowTensor::new(tensor, norm.row_len));
    let Normalised { y, rstd } = expect(cpu::gated_forward(
        &problem(&shape, norm),
        x.rows::<T>(),
        cpu::Gate {
            rows: gate.rows::<T>(),
            order: order.into(),
        },
        parameters.affine(),
        with_rstd,
    ));
    let rstd = rstd.map(|rstd| dense(rstd, norm.rstd_shape(&shape)));
    (dense(y, shape), rstd)
}

fn backward<T: FlexElement>(
    [dy, x, gate, rstd]: [FlexTensor; 4],
    affine: Affine<Flex>,
    settings: GatedSettings,
    wanted: GatedWanted,
) -> GatedGradients<Flex>
where
    T::Statistic: FlexElement,
{
    let GatedSettings { norm, order } = settings;
    let shape = x.layout().shape().clone();
    let parameters = Parameters::<T::Statistic>::read(affine.parameters(), parameter);
    let [dy, x, gate] = [dy, x, gate].map(|tensor| RowTensor::new(tensor, norm.row_len));
    let rstd = rstd.to_contiguous();
    let gradients = expect(cpu::gated_backward(
        &problem(&shape, norm),
        dy.rows::<T>(),
        x.rows::<T>(),
        cpu::Gate {
            rows: gate.rows::<T>(),
            order: order.into(),
        },
        rstd.storage::<T::Statistic>(),
        parameters.affine(),
        wanted_of(&affine, wanted),
    ));
    let (gamma, beta) = affine.parameters();
    let like_x = |values: Option<_>| match values {
        Some(values) => Gradient::Computed(dense(values, shape.clone())),
        None => Gradient::Skipped,
    };
    GatedGradients {
        dx: like_x(gradients.dx),
        dgate: like_x(gradients.dgate),
        dgamma: Gradient::zip(gradients.dgamma, gamma, gradient),
        dbeta: Gradient::zip(gradients.dbeta, beta, gradient),
    }
}
