//! Forward, and forward with `y.backward()`, against `burn::nn::RmsNorm` on the same device.
//!
//! `cargo bench -p fused-norm-benches`; words after `--` pick the lines that contain them all.
//! Each case is held to the f64 oracle before it is timed.

use burn::nn;
use burn::tensor::{Device, Tensor, TensorData};
use burn_fused_norm::RmsNormConfig;
use fused_norm_benches::{Duel, duel};
use fused_norm_testkit::{oracle, patterns};

// glibc gives the largest buffers back to the kernel when they are freed, and the next call pays for
// them page by page: see docs/performance.md for the times with it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SHAPES: [[usize; 2]; 6] = [
    [1, 4096],
    [32, 64],
    [2048, 1024],
    [4096, 4096],
    [16384, 1024],
    [131072, 128],
];

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    println!("device   pass      shape              ours µs  burn::nn µs    ratio     quartiles");
    for (name, device) in devices() {
        for shape in SHAPES {
            for (pass, run) in PASSES {
                let label = format!("{name:<8} {pass:<9} {:<14}", format!("{shape:?}"));
                if words.iter().all(|word| label.contains(word)) {
                    println!("{label} {}", run(&device, shape));
                }
            }
        }
    }
}

#[allow(deprecated)] // NdArray, by Burn as a whole.
fn devices() -> [(&'static str, Device); 2] {
    [("flex", Device::flex()), ("ndarray", Device::ndarray())]
}

type Pass = fn(&Device, [usize; 2]) -> Duel;
const PASSES: [(&str, Pass); 2] = [("forward", forward), ("training", training)];

fn input(device: &Device, [rows, row_len]: [usize; 2]) -> Tensor<2> {
    let values: Vec<f32> = (0..rows * row_len).map(|i| patterns::p(i) as f32).collect();
    Tensor::from_data(TensorData::new(values, [rows, row_len]), device)
}

/// x is kept, so both write new memory.
fn forward(device: &Device, shape: [usize; 2]) -> Duel {
    let ours = RmsNormConfig::new(shape[1]).init(device);
    let theirs = nn::RmsNormConfig::new(shape[1]).init(device);
    let x = input(device, shape);
    verify(&x, &ours.forward(x.clone()));
    verify(&x, &theirs.forward(x.clone()));
    duel(|| ours.forward(x.clone()), || theirs.forward(x.clone()))
}

/// Forward, `y.backward()`, and both gradients.
fn training(device: &Device, shape: [usize; 2]) -> Duel {
    let device = device.clone().autodiff();
    let ours = RmsNormConfig::new(shape[1]).init(&device);
    let theirs = nn::RmsNormConfig::new(shape[1]).init(&device);
    let gamma = ours.gamma.as_ref().expect("the default has a gamma").val();
    let x = input(&device, shape).require_grad();
    let gradients = |y: Tensor<2>, gamma: &Tensor<1>| {
        let gradients = y.backward();
        (x.grad(&gradients), gamma.grad(&gradients))
    };
    duel(
        || gradients(ours.forward(x.clone()), &gamma),
        || gradients(theirs.forward(x.clone()), &theirs.gamma.val()),
    )
}

/// # Panics
///
/// If `y` is not RMSNorm of `x` within what f32 can do.
fn verify(x: &Tensor<2>, y: &Tensor<2>) {
    let [_, row_len] = x.dims();
    let x: Vec<f64> = x.to_data().iter().collect();
    let exact = oracle::forward(
        &x,
        &oracle::Problem {
            row_len,
            stat_len: row_len,
            epsilon: 1e-5,
            gamma: None,
            beta: None,
        },
    );
    for (y, exact) in y.to_data().iter::<f64>().zip(exact.y.values) {
        assert!(
            (y - exact).abs() <= 1e-5 * exact.abs(),
            "{y}, expected {exact}"
        );
    }
}
