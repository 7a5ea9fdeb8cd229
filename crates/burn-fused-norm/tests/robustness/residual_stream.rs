//! Gradients through a model: what stands before the norm is trained, and branches add up.

use burn::module::Param;
use burn::nn::LinearConfig;
use burn::tensor::{Device, Tensor};
use burn_fused_norm::{RmsNorm, RmsNormConfig};
use fused_norm_testkit::oracle::{self, Problem};
use fused_norm_testkit::patterns::{g, p, q, r};

use crate::common::{assert_near, devices, filled, values};

const ROWS: usize = 5;
const FEATURES: usize = 8;
const LEN: usize = ROWS * FEATURES;
const EPSILON: f64 = 1e-6;
/// Of the largest value of a gradient.
const CLOSE: f64 = 2e-5;

fn host(at: impl Fn(usize) -> f64) -> Vec<f64> {
    (0..LEN).map(at).collect()
}

fn norm(device: &Device, scale: impl Fn(usize) -> f64) -> RmsNorm {
    let config = RmsNormConfig::new(FEATURES).with_epsilon(EPSILON);
    let mut norm = config.init(device);
    norm.gamma = Some(Param::from_tensor(
        filled([FEATURES], device, scale).require_grad(),
    ));
    norm
}

/// y of a norm, and the gradients of x and gamma for a dy.
fn exact(x: &[f64], gamma: &[f64], dy: &[f64]) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let problem = Problem {
        row_len: FEATURES,
        stat_len: FEATURES,
        epsilon: EPSILON,
        gamma: Some(gamma),
        beta: None,
    };
    let y = oracle::forward(x, &problem).y.values;
    let gradients = oracle::backward(x, dy, &problem);
    (y, gradients.dx.values, gradients.dgamma.values)
}

fn each(a: &[f64], b: &[f64], of: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| of(*a, *b)).collect()
}

#[test]
fn x_of_a_pre_norm_sum_gets_both_gradients() {
    for (name, device) in devices::selected() {
        let device = device.autodiff();
        let x = filled::<2>([1, 4], &device, |i| (i + 1) as f64).require_grad();
        let norm = RmsNormConfig::new(4).with_epsilon(1e-6).init(&device);
        let gradients = (norm.forward(x.clone()) + x.clone()).sum().backward();
        let dx = values(x.grad(&gradients).unwrap());
        let expected = [1.2434322, 1.1217161, 1.0, 0.8782839];
        assert_near(name, &dx, &expected, 2e-6);
    }
}

/// A layer before the norm, its input dense and transposed, the norm itself and a clone of it.
#[test]
fn what_stands_before_the_norm_is_trained() {
    let (x, weight, gamma) = (host(p), host(q), (0..FEATURES).map(g).collect::<Vec<_>>());
    let product = each(&x, &weight, |x, weight| x * weight);
    let (y, ..) = exact(&product, &gamma, &product);
    let dy: Vec<f64> = y.iter().map(|y| 2.0 * y).collect();
    let (_, dproduct, dgamma) = exact(&product, &gamma, &dy);
    let dweight = each(&dproduct, &x, |d, x| d * x);
    let dx = each(&dproduct, &weight, |d, weight| d * weight);
    for (name, device) in devices::selected() {
        let device = device.autodiff();
        for transposed in [false, true] {
            let x = match transposed {
                false => filled::<2>([ROWS, FEATURES], &device, p),
                true => filled([FEATURES, ROWS], &device, |i| {
                    p(i % ROWS * FEATURES + i / ROWS)
                }),
            };
            let x = x.require_grad();
            let weight = filled::<2>([ROWS, FEATURES], &device, q).require_grad();
            let norm = norm(&device, g);
            for norm in [norm.clone(), norm] {
                let rows = if transposed {
                    x.clone().transpose()
                } else {
                    x.clone()
                };
                let y = norm.forward(rows * weight.clone());
                let gradients = (y.clone() * y).sum().backward();
                let found = x.grad(&gradients).unwrap();
                let found = if transposed { found.transpose() } else { found };
                assert_near(name, &values(found), &dx, CLOSE);
                assert_near(
                    name,
                    &values(weight.grad(&gradients).unwrap()),
                    &dweight,
                    CLOSE,
                );
                let gamma = norm.gamma.unwrap().val();
                assert_near(
                    name,
                    &values(gamma.grad(&gradients).unwrap()),
                    &dgamma,
                    CLOSE,
                );
            }
        }
    }
}

/// With a matrix; on CubeCL devices the example's training does that.
#[test]
fn a_linear_layer_before_the_norm_is_trained() {
    for device in crate::common::cpu_devices() {
        let device = device.autodiff();
        let mut linear = LinearConfig::new(FEATURES, FEATURES)
            .with_bias(false)
            .init(&device);
        linear.weight = Param::from_tensor(filled([FEATURES, FEATURES], &device, r).require_grad());
        let x = filled::<2>([ROWS, FEATURES], &device, p).require_grad();
        let norm = norm(&device, g);
        let y = norm.forward(linear.forward(x.clone()));
        let gradients = (y.clone() * y).sum().backward();

        let (rows, weight) = (host(p), (0..FEATURES * FEATURES).map(r).collect::<Vec<_>>());
        let gamma: Vec<f64> = (0..FEATURES).map(g).collect();
        let at = |row: usize, column: usize| -> f64 {
            let inputs = 0..FEATURES;
            inputs
                .map(|i| rows[row * FEATURES + i] * weight[i * FEATURES + column])
                .sum()
        };
        let product = host(|i| at(i / FEATURES, i % FEATURES));
        let (y, ..) = exact(&product, &gamma, &product);
        let dy: Vec<f64> = y.iter().map(|y| 2.0 * y).collect();
        let (_, dproduct, _) = exact(&product, &gamma, &dy);
        let dweight: Vec<f64> = (0..FEATURES * FEATURES)
            .map(|i| {
                let (input, column) = (i / FEATURES, i % FEATURES);
                let of_row = |row| rows[row * FEATURES + input] * dproduct[row * FEATURES + column];
                (0..ROWS).map(of_row).sum()
            })
            .collect();
        let found = linear.weight.val().grad(&gradients).unwrap();
        assert_near("weight", &values(found), &dweight, CLOSE);
        assert!(x.grad(&gradients).is_some());
    }
}

/// `h = x + norm(x)·w`, twice; the second time with the sum and the norm in one operation as well.
struct Blocks {
    norms: [RmsNorm; 2],
    weights: [Tensor<2>; 2],
}

impl Blocks {
    fn new(device: &Device) -> Self {
        Self {
            norms: [norm(device, g), norm(device, |j| g(j + 3))],
            weights: [
                filled([ROWS, FEATURES], device, q).require_grad(),
                filled([ROWS, FEATURES], device, r).require_grad(),
            ],
        }
    }

    /// The gradients of x, the weights and the gammas, for a loss of Σ h·q.
    fn gradients(&self, x: Tensor<2>, fused: bool, device: &Device) -> Vec<Vec<f64>> {
        let x = x.require_grad();
        let [first, second] = &self.weights;
        let branch = self.norms[0].forward(x.clone()) * first.clone();
        let (normed, stream) = match fused {
            true => self.norms[1].forward_add(branch, x.clone()),
            false => {
                let stream = x.clone() + branch;
                (self.norms[1].forward(stream.clone()), stream)
            }
        };
        let out = stream + normed * second.clone();
        let gradients = (out * filled([ROWS, FEATURES], device, q)).sum().backward();
        let mut all: Vec<_> = [&x, first, second]
            .into_iter()
            .map(|tensor| values(tensor.grad(&gradients).unwrap()))
            .collect();
        for norm in &self.norms {
            let gamma = norm.gamma.as_ref().unwrap().val();
            all.push(values(gamma.grad(&gradients).unwrap()));
        }
        all
    }

    fn exact() -> Vec<Vec<f64>> {
        let gammas = [0, 3].map(|from| (from..from + FEATURES).map(g).collect::<Vec<_>>());
        let (x, first, second, dout) = (host(p), host(q), host(r), host(q));
        let (normed, ..) = exact(&x, &gammas[0], &x);
        let stream = each(&x, &each(&normed, &first, |a, b| a * b), |a, b| a + b);
        let (of_stream, ..) = exact(&stream, &gammas[1], &stream);
        let dsecond = each(&dout, &of_stream, |a, b| a * b);
        let dnormed = each(&dout, &second, |a, b| a * b);
        let (_, dstream, dgamma_2) = exact(&stream, &gammas[1], &dnormed);
        let dstream = each(&dstream, &dout, |a, b| a + b);
        let dfirst = each(&dstream, &normed, |a, b| a * b);
        let dnormed = each(&dstream, &first, |a, b| a * b);
        let (_, dx, dgamma_1) = exact(&x, &gammas[0], &dnormed);
        let dx = each(&dx, &dstream, |a, b| a + b);
        vec![dx, dfirst, dsecond, dgamma_1, dgamma_2]
    }
}

#[test]
fn two_blocks_with_and_without_checkpointing() {
    const NAMES: [&str; 5] = [
        "dx",
        "first weight",
        "second weight",
        "first gamma",
        "second gamma",
    ];
    let expected = Blocks::exact();
    for (name, device) in devices::selected() {
        let plain = device.autodiff();
        for device in [plain.clone(), plain.clone().gradient_checkpointing()] {
            let blocks = Blocks::new(&device);
            let x = || filled::<2>([ROWS, FEATURES], &device, p);
            for fused in [false, true] {
                let first = blocks.gradients(x(), fused, &device);
                for ((found, expected), part) in first.iter().zip(&expected).zip(NAMES) {
                    assert_near(&format!("{name}, {part}"), found, expected, CLOSE);
                }
                // On a fresh graph, again.
                assert_eq!(blocks.gradients(x(), fused, &device), first, "{name}");
            }
        }
        let of = |device: &Device| {
            let x = filled([ROWS, FEATURES], device, p);
            Blocks::new(device).gradients(x, true, device)
        };
        let balanced = of(&plain.clone().gradient_checkpointing());
        for (kept, balanced) in of(&plain).iter().zip(&balanced) {
            match name {
                "flex" | "ndarray" => assert_eq!(kept, balanced, "{name}"),
                _ => assert_near(name, balanced, kept, 1e-6),
            }
        }
    }
}
