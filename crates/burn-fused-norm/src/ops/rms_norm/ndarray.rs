//! RMSNorm on NdArray: the native CPU kernels.

use burn::backend::ndarray::NdArrayTensor;
use burn::backend::{NdArray, TensorMetadata};
use burn::tensor::DType;
use fused_norm_kernels::cpu;

use super::native::{expect, problem, wanted_of};
use super::{Affine, Gradient, Gradients, RmsNormOps, Settings, Wanted};
use crate::backend::ndarray::{
    DenseTensor, NdArrayElement, dense, gradient, parameter, unique_dense,
};
use crate::backend::parameters::Parameters;

/// Calls `$function::<T>($arguments)` with the type of x's elements.
macro_rules! with_element {
    ($dtype:expr, $function:ident($($argument:expr),*)) => {
        match $dtype {
            DType::F64 => $function::<f64>($($argument),*),
            DType::F32 => $function::<f32>($($argument),*),
            other => panic!("rms_norm: x has type {other:?}, expected F64 or F32 on NdArray"),
        }
    };
}

impl RmsNormOps for NdArray {
    fn rms_norm(x: NdArrayTensor, affine: Affine<Self>, settings: Settings) -> NdArrayTensor {
        with_element!(x.dtype(), forward(x, affine, settings))
    }

    fn rms_norm_with_rstd(
        x: NdArrayTensor,
        affine: Affine<Self>,
        settings: Settings,
    ) -> (NdArrayTensor, NdArrayTensor) {
        with_element!(x.dtype(), forward_with_rstd(x, affine, settings))
    }

    fn rms_norm_backward(
        dy: NdArrayTensor,
        x: NdArrayTensor,
        rstd: NdArrayTensor,
        affine: Affine<Self>,
        settings: Settings,
        wanted: Wanted,
    ) -> Gradients<Self> {
        with_element!(x.dtype(), backward(dy, x, rstd, affine, settings, wanted))
    }
}

fn forward<T: NdArrayElement<Statistic = T>>(
    x: NdArrayTensor,
    affine: Affine<NdArray>,
    settings: Settings,
) -> NdArrayTensor {
    let shape = x.shape();
    let problem = problem(&shape, settings);
    let parameters = Parameters::<T>::read(affine.parameters(), parameter);
    match unique_dense::<T>(x) {
        Ok(mut array) => {
            let values = array.as_slice_mut().expect("the array is dense");
            expect(cpu::forward_in_place(&problem, values, parameters.affine()));
            T::into_tensor(array)
        }
        Err(x) => {
            let x = DenseTensor::<T>::new(&x);
            dense(
                expect(cpu::forward(&problem, x.rows(), parameters.affine())),
                &shape,
            )
        }
    }
}

fn forward_with_rstd<T: NdArrayElement<Statistic = T>>(
    x: NdArrayTensor,
    affine: Affine<NdArray>,
    settings: Settings,
) -> (NdArrayTensor, NdArrayTensor) {
    let shape = x.shape();
    let problem = problem(&shape, settings);
    let parameters = Parameters::<T>::read(affine.parameters(), parameter);
    let x = DenseTensor::<T>::new(&x);
    let outputs = cpu::forward_with_rstd(&problem, x.rows(), parameters.affine());
    let (y, rstd) = expect(outputs);
    let mut rstd_shape = shape.clone();
    rstd_shape[shape.num_dims() - 1] = 1;
    (dense(y, &shape), dense(rstd, &rstd_shape))
}

fn backward<T: NdArrayElement<Statistic = T>>(
    dy: NdArrayTensor,
    x: NdArrayTensor,
    rstd: NdArrayTensor,
    affine: Affine<NdArray>,
    settings: Settings,
    wanted: Wanted,
) -> Gradients<NdArray> {
    let shape = x.shape();
    let problem = problem(&shape, settings);
    let parameters = Parameters::<T>::read(affine.parameters(), parameter);
    let wanted = wanted_of(&affine, wanted);
    let (x, rstd) = (DenseTensor::<T>::new(&x), DenseTensor::<T>::new(&rstd));
    let gamma = parameters.affine().gamma();

    let in_place = if wanted.dx {
        unique_dense::<T>(dy)
    } else {
        Err(dy)
    };
    let (gradients, overwritten) = match in_place {
        Ok(mut array) => {
            let dy = array.as_slice_mut().expect("the array is dense");
            let gradients =
                cpu::backward_in_place(&problem, dy, x.rows(), rstd.values(), gamma, wanted);
            (gradients, Some(array))
        }
        Err(dy) => {
            let dy = DenseTensor::<T>::new(&dy);
            let gradients =
                cpu::backward(&problem, dy.rows(), x.rows(), rstd.values(), gamma, wanted);
            (gradients, None)
        }
    };
    let cpu::Gradients { dx, dgamma, dbeta } = expect(gradients);
    let dx = dx
        .map(|dx| dense(dx, &shape))
        .or(overwritten.map(T::into_tensor));
    let (gamma, beta) = affine.parameters();
    Gradients {
        dx: dx.map_or(Gradient::Skipped, Gradient::Computed),
        dgamma: Gradient::zip(dgamma, gamma, gradient),
        dbeta: Gradient::zip(dbeta, beta, gradient),
    }
}
