//! Forward, and forward with `y.backward()`, against `burn::nn::RmsNorm` on the same device; and
//! forward against one multiplication of the same tensor, which moves as many bytes.
//!
//! `cargo bench -p fused-norm-benches`, with `--features wgpu` and so on for other devices; words
//! after `--` pick the lines that contain them all. Each case is held to the f64 oracle before it is
//! timed, and every call ends when the device has finished.

use burn::nn;
use burn::tensor::{Device, Tensor, TensorData};
use burn_fused_norm::RmsNormConfig;
use fused_norm_benches::{Duel, duel};
use fused_norm_testkit::{oracle, patterns};

// glibc gives the largest buffers back to the kernel when they are freed, and the next call pays for
// them page by page: see docs/performance.md for the times with it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SHAPES: [[usize; 2]; 9] = [
    [1, 4096],
    [32, 64],
    [64, 1024],
    [64, 65536],
    [2048, 1024],
    [4096, 4096],
    [16384, 1024],
    [65536, 64],
    [131072, 128],
];

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    println!("device   pass      shape              ours µs    theirs µs    ratio     quartiles");
    for (name, device) in devices() {
        for shape in SHAPES {
            for (pass, run) in PASSES {
                let label = format!("{name:<8} {pass:<9} {:<14}", format!("{shape:?}"));
                if words.iter().all(|word| label.contains(word)) {
                    println!("{label} {}", run(&device(), shape));
                }
            }
        }
    }
}

type Make = fn() -> Device;

/// Devices are opened when a line asks for them.
fn devices() -> Vec<(&'static str, Make)> {
    vec![
        ("flex", Device::flex as Make),
        #[allow(deprecated)] // By Burn as a whole.
        ("ndarray", Device::ndarray),
        #[cfg(feature = "cpu")]
        ("cpu", Device::cpu),
        #[cfg(feature = "wgpu")]
        ("wgpu", || Device::wgpu(Default::default())),
        #[cfg(feature = "vulkan")]
        ("vulkan", || Device::vulkan(Default::default())),
        #[cfg(feature = "metal")]
        ("metal", || Device::metal(Default::default())),
        #[cfg(feature = "webgpu")]
        ("webgpu", || Device::webgpu(Default::default())),
        #[cfg(feature = "cuda")]
        ("cuda", || Device::cuda(0)),
        #[cfg(feature = "rocm")]
        ("rocm", || Device::rocm(0)),
    ]
}

type Pass = fn(&Device, [usize; 2]) -> Duel;
const PASSES: [(&str, Pass); 3] = [("forward", forward), ("training", training), ("copy", copy)];

/// What is returned is there when the device has finished.
fn finished<T>(device: &Device, value: T) -> T {
    device.sync().expect("the device finishes");
    value
}

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
    duel(
        || finished(device, ours.forward(x.clone())),
        || finished(device, theirs.forward(x.clone())),
    )
}

/// Forward against a multiplication by a number: the bytes of both are the same.
fn copy(device: &Device, shape: [usize; 2]) -> Duel {
    let ours = RmsNormConfig::new(shape[1]).init(device);
    let x = input(device, shape);
    duel(
        || finished(device, ours.forward(x.clone())),
        || finished(device, x.clone().mul_scalar(1.5)),
    )
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
        finished(&device, (x.grad(&gradients), gamma.grad(&gradients)))
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
