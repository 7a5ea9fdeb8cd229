//! The variants beside what they replace: a sum and then a norm, silu and then a product, a permuted
//! copy; and short rows, which QK-norm has, beside long ones.
//!
//! `cargo bench -p fused-norm-benches --bench variants`, as `forward`.

use burn::nn;
use burn::tensor::activation::silu;
use burn::tensor::{Device, Tensor};
use burn_fused_norm::{GateOrder, RmsNorm, RmsNormConfig};
use fused_norm_benches::cases::{EPSILON, input, reversed, strict, verify};
use fused_norm_benches::contest::{Contender, Score, contest};
use fused_norm_benches::devices::{devices, finished};
use fused_norm_benches::record::{COPY, Results, Work};
use fused_norm_testkit::FloatKind;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const LARGE: [[usize; 2]; 2] = [[2048, 1024], [4096, 4096]];
/// As many bytes in rows of a model and in rows of a head.
const HEADS: [[usize; 2]; 3] = [[16384, 1024], [131_072, 128], [262_144, 64]];
/// Images `[N, C, H, W]`, over their channels.
const IMAGES: [usize; 4] = [8, 256, 64, 64];

fn main() -> Result<(), csv::Error> {
    let mut results = Results::new("variants");
    for (device, open) in devices() {
        let work = |pass, shape, activations| Work {
            device,
            kind: "f32",
            pass,
            shape,
            size: 4,
            activations,
        };
        for shape in LARGE {
            // x, residual; y, sum.
            results.run(work("add", shape, 4.0), || add(&open(), shape));
            // And dy, sum; dx, which is the gradient of both.
            results.run(work("add+grad", shape, 7.0), || {
                add_training(&open(), shape)
            });
            // x, gate; y.
            results.run(work("gated", shape, 3.0), || gated(&open(), shape));
        }
        for shape in HEADS {
            results.run(work("heads", shape, 2.0), || heads(&open(), shape));
        }
        let [n, c, h, w] = IMAGES;
        results.run(work("axis", [n * h * w, c], 2.0), || axis(&open()));
    }
    results.finish()
}

fn layer(device: &Device, row_len: usize) -> RmsNorm {
    RmsNormConfig::new(row_len)
        .with_epsilon(EPSILON)
        .init(device)
}

fn burns_layer(device: &Device, row_len: usize) -> nn::RmsNorm {
    nn::RmsNormConfig::new(row_len)
        .with_epsilon(EPSILON)
        .init(device)
}

/// x and residual are kept, so both outputs are new memory.
fn add(device: &Device, shape: [usize; 2]) -> Vec<Score> {
    let (ours, burns) = (layer(device, shape[1]), burns_layer(device, shape[1]));
    let x = input(device, shape, FloatKind::F32);
    let residual = reversed(device, shape);
    let (y, sum) = ours.forward_add(x.clone(), residual.clone());
    verify(&sum, &y, shape[1], strict(FloatKind::F32));
    contest(vec![
        Contender::new("ours", || {
            finished(device, ours.forward_add(x.clone(), residual.clone()))
        }),
        Contender::new("sum, then ours", || {
            let sum = x.clone() + residual.clone();
            finished(device, (ours.forward(sum.clone()), sum))
        }),
        Contender::new("sum, burn RmsNorm", || {
            let sum = x.clone() + residual.clone();
            finished(device, (burns.forward(sum.clone()), sum))
        }),
        Contender::new(COPY, || finished(device, x.clone().mul_scalar(1.5))),
    ])
}

/// `y.backward()`, with the gradients of x and residual.
fn add_training(device: &Device, shape: [usize; 2]) -> Vec<Score> {
    let device = &device.clone().autodiff();
    let (ours, burns) = (layer(device, shape[1]), burns_layer(device, shape[1]));
    let x = input(device, shape, FloatKind::F32);
    let residual = reversed(device, shape).require_grad();
    let x = x.require_grad();
    let gradients = |(y, sum): (Tensor<2>, Tensor<2>)| {
        let gradients = y.backward();
        let both = (x.grad(&gradients), residual.grad(&gradients));
        assert!(
            both.0.is_some() && both.1.is_some(),
            "a gradient is missing"
        );
        finished(device, (both, sum))
    };
    let sum = || x.clone() + residual.clone();
    contest(vec![
        Contender::new("ours", || {
            gradients(ours.forward_add(x.clone(), residual.clone()))
        }),
        Contender::new("sum, then ours", || {
            let sum = sum();
            gradients((ours.forward(sum.clone()), sum))
        }),
        Contender::new("sum, burn RmsNorm", || {
            let sum = sum();
            gradients((burns.forward(sum.clone()), sum))
        }),
    ])
}

fn gated(device: &Device, shape: [usize; 2]) -> Vec<Score> {
    let ours = layer(device, shape[1]);
    let x = input(device, shape, FloatKind::F32);
    let gate = reversed(device, shape);
    let order = GateOrder::AfterNorm;
    contest(vec![
        Contender::new("ours", || {
            finished(device, ours.forward_gated(x.clone(), gate.clone(), order))
        }),
        Contender::new("ours, then silu", || {
            finished(device, ours.forward(x.clone()) * silu(gate.clone()))
        }),
        Contender::new(COPY, || finished(device, x.clone().mul_scalar(1.5))),
    ])
}

fn heads(device: &Device, shape: [usize; 2]) -> Vec<Score> {
    let (ours, burns) = (layer(device, shape[1]), burns_layer(device, shape[1]));
    let x = input(device, shape, FloatKind::F32);
    verify(
        &x,
        &ours.forward(x.clone()),
        shape[1],
        strict(FloatKind::F32),
    );
    contest(vec![
        Contender::new("ours", || finished(device, ours.forward(x.clone()))),
        Contender::new("burn RmsNorm", || {
            finished(device, burns.forward(x.clone()))
        }),
        Contender::new(COPY, || finished(device, x.clone().mul_scalar(1.5))),
    ])
}

fn axis(device: &Device) -> Vec<Score> {
    let [n, c, h, w] = IMAGES;
    let last = layer(device, c);
    let mut ours = last.clone();
    ours.axis = 2;
    let x = input(device, [n * c, h * w], FloatKind::F32).reshape(IMAGES);
    contest(vec![
        Contender::new("ours", || finished(device, ours.forward(x.clone()))),
        Contender::new("copy, then ours", || {
            // The reshape copies: the rows of the permuted view have no one distance.
            let rows = x.clone().permute([0, 2, 3, 1]).reshape([n * h * w, c]);
            let y = last.forward(rows).reshape([n, h, w, c]);
            finished(device, y.permute([0, 3, 1, 2]))
        }),
        Contender::new(COPY, || finished(device, x.clone().mul_scalar(1.5))),
    ])
}
