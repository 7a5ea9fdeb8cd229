//! Forward passes beside a copy of their bytes, Burn's layers, the decomposed body, and candle.
//!
//! `cargo bench -p fused-norm-benches --bench forward`, with `--features wgpu` and so on for other
//! devices, and `peers` for candle; words after `--` pick the lines that contain them all. Every
//! RMSNorm is held to the f64 oracle before it is timed, and every call ends when the device has
//! finished.

use burn::backend::Dispatch;
use burn::module::Param;
use burn::nn;
use burn::tensor::{Device, Tensor};
use burn_fused_norm::ops::rms_norm::{Affine, decomposed};
use burn_fused_norm::{RmsNorm, RmsNormConfig, RmsNormOptions};
use fused_norm_benches::cases::{
    EPSILON, FEW, LOOSE, copied, dtype, input, shapes, strict, values, verify,
};
use fused_norm_benches::contest::{Contender, Score, contest};
use fused_norm_benches::devices::{cube_devices, devices, finished, is_native};
use fused_norm_benches::record::{COPY, OURS_F32, Results, Work};
use fused_norm_testkit::FloatKind;

// glibc gives the largest buffers back to the kernel when they are freed, and the next call pays for
// them page by page: see docs/performance.md for the times with it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const F32: FloatKind = FloatKind::F32;

fn main() -> Result<(), csv::Error> {
    let mut results = Results::new("forward");
    for (device, open) in devices().into_iter().filter(|(name, _)| is_native(name)) {
        for shape in shapes() {
            results.run(work(device, F32, "forward", shape), || {
                forward(&open(), shape, true)
            });
        }
    }
    for shape in [[1, 4096], [64, 1024], [2048, 1024], [4096, 4096]] {
        results.run(work("flex", F32, "partial", shape), || {
            partial(&Device::flex(), shape)
        });
    }
    for kind in [FloatKind::F64, FloatKind::F16, FloatKind::BF16] {
        results.run(work("flex", kind, "forward", [4096, 4096]), || {
            typed(&Device::flex(), kind, [4096, 4096])
        });
    }
    for (device, open) in cube_devices() {
        for shape in FEW {
            results.run(work(device, F32, "forward", shape), || {
                forward(&open(), shape, false)
            });
        }
    }
    results.finish()
}

fn work<'a>(device: &'a str, kind: FloatKind, pass: &'a str, shape: [usize; 2]) -> Work<'a> {
    Work {
        device,
        kind: kind.name(),
        pass,
        shape,
        size: size(kind),
        activations: 2.0,
    }
}

fn size(kind: FloatKind) -> usize {
    dtype(kind).size()
}

/// The layer, with parameters of the type of x.
fn layer(device: &Device, row_len: usize, kind: FloatKind) -> RmsNorm {
    let mut layer = RmsNormConfig::new(row_len)
        .with_epsilon(EPSILON)
        .init(device);
    layer.gamma = Some(Param::from_tensor(Tensor::ones(
        [row_len],
        (device, dtype(kind)),
    )));
    layer
}

/// x is kept, so y is new memory, except in place.
fn forward(device: &Device, shape: [usize; 2], native: bool) -> Vec<Score> {
    let [_, row_len] = shape;
    let ours = layer(device, row_len, F32);
    let burns = nn::RmsNormConfig::new(row_len)
        .with_epsilon(EPSILON)
        .init(device);
    let layer_norm = nn::LayerNormConfig::new(row_len)
        .with_epsilon(EPSILON)
        .init(device);
    let settings = RmsNormOptions::new(EPSILON).settings(row_len);
    let gamma = burns.gamma.val().into_dispatch();
    let x = input(device, shape, F32);
    let decomposed = || {
        let affine = Affine::<Dispatch>::Scale {
            gamma: gamma.clone(),
        };
        let (y, _) = decomposed::rms_norm::<Dispatch>(x.clone().into_dispatch(), affine, settings);
        Tensor::<2>::from_dispatch(y)
    };
    let done = |y: Tensor<2>| finished(device, y);

    verify(&x, &ours.forward(x.clone()), row_len, strict(F32));
    for y in [burns.forward(x.clone()), decomposed()] {
        verify(&x, &y, row_len, LOOSE);
    }
    // In place, the output of a call is the input of the next: normalised rows stay normalised.
    let mut chain = Some(ours.forward(x.clone()));
    let host = if native { values(shape) } else { vec![] };
    let mut contenders = vec![
        Contender::new("ours", || done(ours.forward(x.clone()))),
        Contender::new("ours, in place", || {
            let x = chain.take().expect("the last call has put it back");
            chain = Some(done(ours.forward(x)));
        }),
        Contender::new("burn RmsNorm", || done(burns.forward(x.clone()))),
        Contender::new("burn LayerNorm", || done(layer_norm.forward(x.clone()))),
        Contender::new("decomposed", || done(decomposed())),
        // On devices that are not the host, the copy is an elementwise operation.
        Contender::new(if native { "mul_scalar" } else { COPY }, || {
            done(x.clone().mul_scalar(1.5))
        }),
    ];
    if native {
        contenders.push(Contender::new(COPY, || copied(&host)));
    }
    #[cfg(feature = "peers")]
    if native {
        let rows = candle::Rows::new(shape);
        contenders.push(Contender::new("candle", move || rows.rms_norm()));
    }
    contest(contenders)
}

/// Types beside f32, with a copy of their own bytes and f32 with the same elements.
fn typed(device: &Device, kind: FloatKind, shape: [usize; 2]) -> Vec<Score> {
    let [_, row_len] = shape;
    let (ours, ours_f32) = (layer(device, row_len, kind), layer(device, row_len, F32));
    let (x, x_f32) = (input(device, shape, kind), input(device, shape, F32));
    verify(&x, &ours.forward(x.clone()), row_len, strict(kind));
    let host = x.to_data().bytes().to_vec();
    contest(vec![
        Contender::new("ours", || ours.forward(x.clone())),
        Contender::new(OURS_F32, || ours_f32.forward(x_f32.clone())),
        Contender::new(COPY, || copied(&host)),
    ])
}

/// pRMSNorm of 6.25 % of the features beside RMSNorm.
fn partial(device: &Device, shape: [usize; 2]) -> Vec<Score> {
    let [_, row_len] = shape;
    let full = layer(device, row_len, F32);
    let config = RmsNormConfig::new(row_len).with_epsilon(EPSILON);
    let partial = config.with_partial(Some(0.0625)).init(device);
    let x = input(device, shape, F32);
    verify(&x, &partial.forward(x.clone()), row_len / 16, strict(F32));
    contest(vec![
        Contender::new("ours, p = 6.25 %", || partial.forward(x.clone())),
        Contender::new("ours", || full.forward(x.clone())),
    ])
}

#[cfg(feature = "peers")]
mod candle {
    use candle_core::{Device, Tensor};
    use fused_norm_benches::cases::{EPSILON, LOOSE, values, verify_row};

    /// Candle's fused `rms_norm`, on its CPU.
    pub struct Rows {
        x: Tensor,
        alpha: Tensor,
    }

    impl Rows {
        pub fn new(shape: [usize; 2]) -> Self {
            let [_, row_len] = shape;
            let rows = Self {
                x: Tensor::from_vec(values(shape), (shape[0], row_len), &Device::Cpu)
                    .expect("a tensor"),
                alpha: Tensor::ones(row_len, candle_core::DType::F32, &Device::Cpu)
                    .expect("a tensor"),
            };
            let y = rows.rms_norm();
            let first = |tensor: &Tensor| -> Vec<f64> {
                let row: Vec<f32> = tensor.get(0).and_then(|row| row.to_vec1()).expect("a row");
                row.into_iter().map(f64::from).collect()
            };
            verify_row(&first(&rows.x), &first(&y), row_len, LOOSE);
            rows
        }

        pub fn rms_norm(&self) -> Tensor {
            candle_nn::ops::rms_norm(&self.x, &self.alpha, EPSILON as f32).expect("fitting shapes")
        }
    }
}
