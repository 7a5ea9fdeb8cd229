//! RMSNorm on NdArray: the native CPU kernels.

use alloc::vec::Vec;

use burn::backend::ndarray::NdArrayTensor;
use burn::backend::{NdArray, TensorMetadata};
use fused_norm_kernels::cpu::{self, Normalised};

use super::native::{expect, problem, wanted_of};
use super::{Affine, Gradient, Gradients, OPERATION, RmsNormOps, Settings, Wanted};
use crate::backend::ndarray::{
    DenseTensor, InterleavedTensor, NdArrayElement, dense, gradient, parameter, unique_dense,
    with_element,
};
use crate::backend::parameters::Parameters;

impl RmsNormOps for NdArray {
    fn rms_norm(x: NdArrayTensor, affine: Affine<Self>, settings: Settings) -> NdArrayTensor {
        with_element!(OPERATION, x.dtype(), forward(x, affine, settings))
    }

    fn rms_norm_with_rstd(
        x: NdArrayTensor,
        affine: Affine<Self>,
        settings: Settings,
    ) -> (NdArrayTensor, NdArrayTensor) {
        with_element!(OPERATION, x.dtype(), forward_with_rstd(x, affine, settings))
    }

    fn rms_norm_backward(
        dy: NdArrayTensor,
        x: NdArrayTensor,
        rstd: NdArrayTensor,
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

fn forward<T: NdArrayElement<Statistic = T>>(
    x: NdArrayTensor,
    affine: Affine<NdArray>,
    settings: Settings,
) -> NdArrayTensor {
    let problem = problem(&x.shape(), settings);
    match unique_dense::<T>(x) {
        Ok(mut array) => {
            let parameters = Parameters::<T>::read(affine.parameters(), parameter);
            let values = array.as_slice_mut().expect("the array is dense");
            expect(cpu::forward_in_place(&problem, values, parameters.affine()));
            T::into_tensor(array)
        }
        Err(x) => normalised::<T>(x, affine, settings, false).0,
    }
}

fn forward_with_rstd<T: NdArrayElement<Statistic = T>>(
    x: NdArrayTensor,
    affine: Affine<NdArray>,
    settings: Settings,
) -> (NdArrayTensor, NdArrayTensor) {
    let (y, rstd) = normalised::<T>(x, affine, settings, true);
    (y, rstd.expect("rstd was asked for"))
}

/// y in new memory, and rstd if asked for.
fn normalised<T: NdArrayElement<Statistic = T>>(
    x: NdArrayTensor,
    affine: Affine<NdArray>,
    settings: Settings,
    with_rstd: bool,
) -> (NdArrayTensor, Option<NdArrayTensor>) {
    let shape = x.shape();
    let problem = problem(&shape, settings);
    let parameters = Parameters::<T>::read(affine.parameters(), parameter);
    let to_rstd = |rstd| dense(rstd, &settings.rstd_shape(&shape));
    if let Some(x) = interleaved::<T>(&x, settings) {
        let outputs = cpu::interleaved_forward(&problem, x.rows(), parameters.affine(), with_rstd);
        let Normalised { y, rstd } = expect(outputs);
        return (x.tensor(y, &shape), rstd.map(to_rstd));
    }
    let x = DenseTensor::<T>::new(&x);
    let rows = x.rows(settings.row_len);
    let (y, rstd) = if with_rstd {
        let (y, rstd) = expect(cpu::forward_with_rstd(&problem, rows, parameters.affine()));
        (y, Some(rstd))
    } else {
        (
            expect(cpu::forward(&problem, rows, parameters.affine())),
            None,
        )
    };
    (dense(y, &shape), rstd.map(to_rstd))
}

/// x as rows that lie side by side, if they do and the kernels can walk them so.
fn interleaved<T: NdArrayElement>(
    x: &NdArrayTensor,
    settings: Settings,
) -> Option<InterleavedTensor<'_, T>> {
    (settings.gamma_rows == 1)
        .then(|| InterleavedTensor::new(x, settings.row_len))
        .flatten()
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
    let interleaved = [&dy, &x].map(|rows| interleaved::<T>(rows, settings));
    if let [Some(dy), Some(x)] = interleaved
        && dy.inner() == x.inner()
    {
        let gradients = cpu::interleaved_backward(
            &problem,
            dy.rows(),
            x.rows(),
            DenseTensor::<T>::new(&rstd).values(),
            parameters.affine().gamma(),
            wanted,
        );
        return to_gradients(expect(gradients), &affine, |dx| x.tensor(dx, &shape));
    }
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
            let gradients = cpu::backward_in_place(
                &problem,
                dy,
                x.rows(settings.row_len),
                rstd.values(),
                gamma,
                wanted,
            );
            (gradients, Some(array))
        }
        Err(dy) => {
            let dy = DenseTensor::<T>::new(&dy);
            let gradients = cpu::backward(
                &problem,
                dy.rows(settings.row_len),
                x.rows(settings.row_len),
                rstd.values(),
                gamma,
                wanted,
            );
            (gradients, None)
        }
    };
    let mut gradients = to_gradients(expect(gradients), &affine, |dx| dense(dx, &shape));
    if let Some(dx) = overwritten {
        gradients.dx = Gradient::Computed(T::into_tensor(dx));
    }
    gradients
}

/// The gradients of the kernels as tensors.
fn to_gradients<T: NdArrayElement<Statistic = T>>(
    gradients: cpu::Gradients<T>,
    affine: &Affine<NdArray>,
    to_dx: impl FnOnce(Vec<T>) -> NdArrayTensor,
) -> Gradients<NdArray> {
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
