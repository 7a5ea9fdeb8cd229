//! RMSNorm on Flex: the native CPU kernels.

use alloc::vec::Vec;

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::tensor::Shape;
use fused_norm_kernels::cpu::{self, Normalised};

use super::native::{expect, problem, wanted_of};
use super::{Affine, Gradient, Gradients, OPERATION, RmsNormOps, Settings, Wanted};
use crate::backend::flex::{
    FlexElement, RowTensor, dense, gradient, interleaved, interleaved_tensor, parameter,
    unique_dense, with_element,
};
use crate::backend::interleaving::Interleaving;
use crate::backend::parameters::Parameters;

impl RmsNormOps for Flex {
    fn rms_norm(x: FlexTensor, affine: Affine<Self>, settings: Settings) -> FlexTensor {
        with_element!(OPERATION, x.dtype(), forward(x, affine, settings))
    }

    fn rms_norm_with_rstd(
        x: FlexTensor,
        affine: Affine<Self>,
        settings: Settings,
    ) -> (FlexTensor, FlexTensor) {
        with_element!(OPERATION, x.dtype(), forward_with_rstd(x, affine, settings))
    }

    fn rms_norm_backward(
        dy: FlexTensor,
        x: FlexTensor,
        rstd: FlexTensor,
        affine: Affine<Self>,
        settings: Settings,
        wanted: Wanted,
    ) -> Gradients<Self> {
        with_element!(
            OPERATION,
            x.dtype(),
            backward(dy, x, rstd, affine, settings, wanted)
        )
    }
}

fn forward<T: FlexElement>(
    mut x: FlexTensor,
    affine: Affine<Flex>,
    settings: Settings,
) -> FlexTensor
where
    T::Statistic: FlexElement,
{
    let problem = problem(x.layout().shape(), settings);
    if let Some(values) = unique_dense::<T>(&mut x) {
        let parameters = Parameters::<T::Statistic>::read(affine.parameters(), parameter);
        expect(cpu::forward_in_place(&problem, values, parameters.affine()));
        return x;
    }
    normalised::<T>(x, affine, settings, false).0
}

fn forward_with_rstd<T: FlexElement>(
    x: FlexTensor,
    affine: Affine<Flex>,
    settings: Settings,
) -> (FlexTensor, FlexTensor)
where
    T::Statistic: FlexElement,
{
    let (y, rstd) = normalised::<T>(x, affine, settings, true);
    (y, rstd.expect("rstd was asked for"))
}

/// y in new memory, and rstd if asked for.
fn normalised<T: FlexElement>(
    x: FlexTensor,
    affine: Affine<Flex>,
    settings: Settings,
    with_rstd: bool,
) -> (FlexTensor, Option<FlexTensor>)
where
    T::Statistic: FlexElement,
{
    let shape = x.layout().shape().clone();
    let problem = problem(&shape, settings);
    let parameters = Parameters::<T::Statistic>::read(affine.parameters(), parameter);
    let to_rstd = |rstd| dense(rstd, settings.rstd_shape(&shape));
    if let Some(interleaving) = interleaving(&x, settings) {
        let rows = interleaved::<T>(&x, interleaving);
        let Normalised { y, rstd } = expect(cpu::interleaved_forward(
            &problem,
            rows,
            parameters.affine(),
            with_rstd,
        ));
        return (
            interleaved_tensor(y, &shape, interleaving),
            rstd.map(to_rstd),
        );
    }
    let x = RowTensor::new(x, settings.row_len);
    let rows = x.rows::<T>();
    let (y, rstd) = if with_rstd {
        let (y, rstd) = expect(cpu::forward_with_rstd(&problem, rows, parameters.affine()));
        (y, Some(rstd))
    } else {
        (
            expect(cpu::forward(&problem, rows, parameters.affine())),
            None,
        )
    };
    let rstd = rstd.map(to_rstd);
    (dense(y, shape), rstd)
}

/// How x's rows lie side by side, if they do and the kernels can walk them so.
fn interleaving(x: &FlexTensor, settings: Settings) -> Option<Interleaving> {
    let layout = x.layout();
    let whole_axis = layout.shape().last() == Some(&settings.row_len);
    (whole_axis && settings.gamma_rows == 1)
        .then(|| Interleaving::of(layout.shape(), layout.strides()))
        .flatten()
}

fn backward<T: FlexElement>(
    mut dy: FlexTensor,
    x: FlexTensor,
    rstd: FlexTensor,
    affine: Affine<Flex>,
    settings: Settings,
    wanted: Wanted,
) -> Gradients<Flex>
where
    T::Statistic: FlexElement,
{
    let shape: Shape = x.layout().shape().clone();
    let problem = problem(&shape, settings);
    let parameters = Parameters::<T::Statistic>::read(affine.parameters(), parameter);
    let wanted = wanted_of(&affine, wanted);
    let gamma = parameters.affine().gamma();
    let rstd = rstd.to_contiguous();
    let rstd = rstd.storage::<T::Statistic>();
    if let (Some(of_dy), Some(of_x)) = (interleaving(&dy, settings), interleaving(&x, settings))
        && of_dy.inner == of_x.inner
    {
        let rows = [interleaved::<T>(&dy, of_dy), interleaved::<T>(&x, of_x)];
        let [dy, x] = rows;
        let gradients = expect(cpu::interleaved_backward(
            &problem, dy, x, rstd, gamma, wanted,
        ));
        let to_dx = |dx| interleaved_tensor(dx, &shape, of_x);
        return to_gradients(gradients, &affine, to_dx);
    }
    let x = RowTensor::new(x, settings.row_len);
    let x = x.rows::<T>();

    let in_place = if wanted.dx {
        unique_dense::<T>(&mut dy)
    } else {
        None
    };
    let gradients = match in_place {
        Some(dy) => cpu::backward_in_place(&problem, dy, x, rstd, gamma, wanted),
        None => {
            let dy = RowTensor::new(dy.clone(), settings.row_len);
            cpu::backward(&problem, dy.rows::<T>(), x, rstd, gamma, wanted)
        }
    };
    let mut gradients = to_gradients(expect(gradients), &affine, |dx| dense(dx, shape));
    if let (true, Gradient::Skipped) = (wanted.dx, &gradients.dx) {
        // It has overwritten dy.
        gradients.dx = Gradient::Computed(dy);
    }
    gradients
}

/// The gradients of the kernels as tensors.
fn to_gradients<T: FlexElement>(
    gradients: cpu::Gradients<T>,
    affine: &Affine<Flex>,
    to_dx: impl FnOnce(Vec<T>) -> FlexTensor,
) -> Gradients<Flex>
where
    T::Statistic: FlexElement,
{
    let (gamma, beta) = affine.parameters();
    Gradients {
        dx: match gradients.dx {
            Some(dx) => Gradient::Computed(to_dx(dx)),
            None => Gradient::Skipped,
        },
        dgamma: Gradient::zip(gradients.dgamma, gamma, gradient),
        dbeta: Gradient::zip(gradients.dbeta, beta, gradient),
    }
}
