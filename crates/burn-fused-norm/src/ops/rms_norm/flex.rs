//! RMSNorm on Flex: the native CPU kernels.

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::tensor::{DType, Shape, bf16, f16};
use fused_norm_kernels::cpu;

use super::native::{expect, problem, wanted_of};
use super::{Affine, Gradient, Gradients, RmsNormOps, Settings, Wanted};
use crate::backend::flex::{FlexElement, RowTensor, dense, gradient, parameter, unique_dense};
use crate::backend::parameters::Parameters;

/// Calls `$function::<T>($arguments)` with the type of x's elements.
macro_rules! with_element {
    ($dtype:expr, $function:ident($($argument:expr),*)) => {
        match $dtype {
            DType::F64 => $function::<f64>($($argument),*),
            DType::F32 => $function::<f32>($($argument),*),
            DType::F16 => $function::<f16>($($argument),*),
            DType::BF16 => $function::<bf16>($($argument),*),
            other => panic!("rms_norm: x has type {other:?}, expected F64, F32, F16 or BF16 on Flex"),
        }
    };
}

impl RmsNormOps for Flex {
    fn rms_norm(x: FlexTensor, affine: Affine<Self>, settings: Settings) -> FlexTensor {
        with_element!(x.dtype(), forward(x, affine, settings))
    }

    fn rms_norm_with_rstd(
        x: FlexTensor,
        affine: Affine<Self>,
        settings: Settings,
    ) -> (FlexTensor, FlexTensor) {
        with_element!(x.dtype(), forward_with_rstd(x, affine, settings))
    }

    fn rms_norm_backward(
        dy: FlexTensor,
        x: FlexTensor,
        rstd: FlexTensor,
        affine: Affine<Self>,
        settings: Settings,
        wanted: Wanted,
    ) -> Gradients<Self> {
        with_element!(x.dtype(), backward(dy, x, rstd, affine, settings, wanted))
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
    let shape = x.layout().shape().clone();
    let problem = problem(&shape, settings);
    let parameters = Parameters::<T::Statistic>::read(affine.parameters(), parameter);
    if let Some(values) = unique_dense::<T>(&mut x) {
        expect(cpu::forward_in_place(&problem, values, parameters.affine()));
        return x;
    }
    let x = RowTensor::new(x);
    let y = expect(cpu::forward(&problem, x.rows::<T>(), parameters.affine()));
    dense(y, shape)
}

fn forward_with_rstd<T: FlexElement>(
    x: FlexTensor,
    affine: Affine<Flex>,
    settings: Settings,
) -> (FlexTensor, FlexTensor)
where
    T::Statistic: FlexElement,
{
    let shape = x.layout().shape().clone();
    let problem = problem(&shape, settings);
    let parameters = Parameters::<T::Statistic>::read(affine.parameters(), parameter);
    let x = RowTensor::new(x);
    let (y, rstd) = expect(cpu::forward_with_rstd(
        &problem,
        x.rows::<T>(),
        parameters.affine(),
    ));
    let mut rstd_shape = shape.clone();
    rstd_shape[shape.num_dims() - 1] = 1;
    (dense(y, shape), dense(rstd, rstd_shape))
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
    let x = RowTensor::new(x);
    let x = x.rows::<T>();
    let rstd = rstd.to_contiguous();
    let rstd = rstd.storage::<T::Statistic>();

    let in_place = if wanted.dx {
        unique_dense::<T>(&mut dy)
    } else {
        None
    };
    let gradients = match in_place {
        Some(dy) => cpu::backward_in_place(&problem, dy, x, rstd, gamma, wanted),
        None => {
            let dy = RowTensor::new(dy.clone());
            cpu::backward(&problem, dy.rows::<T>(), x, rstd, gamma, wanted)
        }
    };
    let cpu::Gradients { dx, dgamma, dbeta } = expect(gradients);
    let (gamma, beta) = affine.parameters();
    Gradients {
        dx: match dx {
            Some(dx) => Gradient::Computed(dense(dx, shape)),
            None if wanted.dx => Gradient::Computed(dy),
            None => Gradient::Skipped,
        },
        dgamma: Gradient::zip(dgamma, gamma, gradient),
        dbeta: Gradient::zip(dbeta, beta, gradient),
    }
}
