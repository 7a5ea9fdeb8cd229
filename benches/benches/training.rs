//! Forward and `y.backward()` with both gradients, beside Burn's layers and two and a half copies;
//! and the backward kernel of the CPU alone.
//!
//! `cargo bench -p fused-norm-benches --bench training`, as `forward`.

use burn::nn;
use burn::tensor::{Device, Tensor};
use burn_fused_norm::RmsNormConfig;
use fused_norm_benches::cases::{EPSILON, FEW, copied, input, shapes, strict, values, verify};
use fused_norm_benches::contest::{Contender, Score, contest};
use fused_norm_benches::devices::{devices, finished, is_native};
use fused_norm_benches::record::{COPY, Results, Work};
use fused_norm_kernels::{Problem, cpu};
use fused_norm_testkit::FloatKind;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<(), csv::Error> {
    let mut results = Results::new("training");
    for (device, open) in devices() {
        let native = is_native(device);
        for shape in if native { shapes() } else { FEW.to_vec() } {
            // x, y; dy, x, dx.
            let work = Work {
                device,
                kind: "f32",
                pass: "training",
                shape,
                size: 4,
                activations: 5.0,
            };
            results.run(work, || training(&open(), shape, native));
        }
    }
    for shape in [[2048, 1024], [4096, 4096], [16384, 1024], [131_072, 128]] {
        let work = Work {
            device: "kernel",
            kind: "f32",
            pass: "backward",
            shape,
            size: 4,
            activations: 3.0,
        };
        results.run(work, || kernel(shape));
    }
    results.finish()
}

fn training(device: &Device, shape: [usize; 2], native: bool) -> Vec<Score> {
    let [_, row_len] = shape;
    let device = device.clone().autodiff();
    let ours = RmsNormConfig::new(row_len)
        .with_epsilon(EPSILON)
        .init(&device);
    let burns = nn::RmsNormConfig::new(row_len)
        .with_epsilon(EPSILON)
        .init(&device);
    let layer_norm = nn::LayerNormConfig::new(row_len)
        .with_epsilon(EPSILON)
        .init(&device);
    let gamma = ours.gamma.as_ref().expect("the default has a gamma").val();
    let x = input(&device, shape, FloatKind::F32).require_grad();
    let gradients = |y: Tensor<2>, gamma: &Tensor<1>| {
        let gradients = y.backward();
        let both = (x.grad(&gradients), gamma.grad(&gradients));
        assert!(
            both.0.is_some() && both.1.is_some(),
            "a gradient is missing"
        );
        finished(&device, both)
    };
    let burns_gamma = burns.gamma.val();
    let layer_gamma = layer_norm.gamma.val();

    verify(
        &x.clone().inner(),
        &ours.forward(x.clone()).inner(),
        row_len,
        strict(FloatKind::F32),
    );
    same_gradients(
        gradients(ours.forward(x.clone()), &gamma),
        gradients(burns.forward(x.clone()), &burns_gamma),
    );
    let host = if native { values(shape) } else { vec![] };
    let plain = x.clone().inner();
    contest(vec![
        Contender::new("ours", || gradients(ours.forward(x.clone()), &gamma)),
        Contender::new("burn RmsNorm", || {
            gradients(burns.forward(x.clone()), &burns_gamma)
        }),
        Contender::new("burn LayerNorm", || {
            gradients(layer_norm.forward(x.clone()), &layer_gamma)
        }),
        if native {
            Contender::new(COPY, || copied(&host))
        } else {
            Contender::new(COPY, || finished(&device, plain.clone().mul_scalar(1.5)))
        },
    ])
}

/// # Panics
///
/// If the gradients of two contenders are not the same but for rounding: of dx relative to the
/// largest, of dgamma relative to the rows that are summed.
fn same_gradients(
    (dx, dgamma): (Option<Tensor<2>>, Option<Tensor<1>>),
    (their_dx, their_dgamma): (Option<Tensor<2>>, Option<Tensor<1>>),
) {
    fn off<const D: usize>(a: Option<Tensor<D>>, b: Option<Tensor<D>>, scale: f64) -> f64 {
        let (a, b) = (a.expect("a gradient"), b.expect("a gradient"));
        (a - b).abs().max().into_scalar::<f64>() / scale
    }
    let their_dx = their_dx.expect("a gradient");
    let [rows, _] = their_dx.dims();
    let largest = their_dx.clone().abs().max().into_scalar::<f64>();
    let dx = off(dx, Some(their_dx), largest);
    let dgamma = off(dgamma, their_dgamma, rows as f64);
    assert!(
        dx < 1e-3 && dgamma < 1e-4,
        "dx differs by {dx}, dgamma by {dgamma}"
    );
}

/// `fused_norm_kernels::cpu::backward`, into new memory and over dy.
fn kernel(shape: [usize; 2]) -> Vec<Score> {
    let [rows, row_len] = shape;
    let problem = Problem::new(rows, row_len, row_len, EPSILON).expect("a valid problem");
    let gamma = vec![1.0; row_len];
    let affine = cpu::Affine::Scale { gamma: &gamma };
    let forward = |x: &[f32]| {
        cpu::forward_with_rstd(&problem, cpu::Rows::dense(x, row_len), affine)
            .expect("fitting buffers")
    };
    // Of normalised rows: a dx that is the next dy keeps its size.
    let (x, _) = forward(&values(shape));
    let (_, rstd) = forward(&x);
    let wanted = cpu::Wanted {
        dx: true,
        dgamma: true,
        dbeta: false,
    };
    let dense = cpu::Rows::dense(&x, row_len);
    let dy: Vec<f32> = x.iter().rev().copied().collect();
    let new_dy = dy.clone();
    let mut dy = dy;
    contest(vec![
        Contender::new("ours", || {
            let dy = cpu::Rows::dense(&new_dy, row_len);
            cpu::backward(&problem, dy, dense, &rstd, Some(&gamma), wanted)
                .expect("fitting buffers")
        }),
        Contender::new("ours, in place", || {
            cpu::backward_in_place(&problem, &mut dy, dense, &rstd, Some(&gamma), wanted)
                .expect("fitting buffers")
        }),
        Contender::new(COPY, || copied(&x)),
    ])
}
