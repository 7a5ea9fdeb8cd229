//! What is compared, through Burn's tensors: our layer, Burn's layers, and a copy.

use burn::backend::Dispatch;
use burn::module::Param;
use burn::nn;
use burn::tensor::{Device, Distribution, Tensor};
use burn_fused_norm::ops::rms_norm::{Affine, Gradient, RmsNormOps, Wanted};
use burn_fused_norm::{RmsNorm, RmsNormConfig, RmsNormOptions};

use crate::device::Gpu;
use crate::shapes::{EPSILON, Pass, Shape};

/// What a call leaves behind.
pub struct Kept {
    /// Activations: y, or dx.
    pub rows: Vec<Tensor<2>>,
    /// Gradients of parameters.
    pub columns: Vec<Tensor<1>>,
}

/// A call by its number.
pub type Call = Box<dyn FnMut(usize) -> Kept>;

/// Who is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Contender {
    /// `x.mul_scalar(1.5)`: the bytes of a forward pass, and nothing to compute.
    Copy,
    /// `burn_fused_norm::RmsNorm`.
    Ours,
    /// `burn::nn::RmsNorm`.
    BurnRmsNorm,
    /// `burn::nn::LayerNorm`.
    BurnLayerNorm,
}

impl Contender {
    /// Name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Copy => "copy",
            Self::Ours => "ours",
            Self::BurnRmsNorm => "burn::nn::RmsNorm",
            Self::BurnLayerNorm => "burn::nn::LayerNorm",
        }
    }

    /// The passes that it has.
    pub fn passes(self) -> &'static [Pass] {
        match self {
            Self::Copy => &[Pass::Forward],
            Self::Ours => &Pass::ALL,
            Self::BurnRmsNorm | Self::BurnLayerNorm => &[Pass::Forward, Pass::Training],
        }
    }

    /// Parameters that it reads.
    pub fn parameters(self) -> usize {
        match self {
            Self::Copy => 0,
            Self::Ours | Self::BurnRmsNorm => 1,
            Self::BurnLayerNorm => 2,
        }
    }

    /// The call of a pass, with everything made that it reads.
    pub fn prepare(self, gpu: &Gpu, shape: Shape, pass: Pass) -> Call {
        match pass {
            Pass::Forward => forward(self, &gpu.burn, shape),
            Pass::Training => training(self, &gpu.burn.clone().autodiff(), shape),
            Pass::Backward => backward(&gpu.burn, shape),
        }
    }
}

enum Layer {
    Copy,
    Ours(RmsNorm),
    BurnRmsNorm(nn::RmsNorm),
    BurnLayerNorm(nn::LayerNorm),
}

impl Layer {
    /// The parameters have x's type, as those of a model in that type.
    fn new(contender: Contender, device: &Device, shape: Shape) -> Self {
        let d_model = shape.row_len;
        let options = || (device, shape.dtype());
        let ones = || Param::from_tensor(Tensor::ones([d_model], options()));
        let zeros = || Param::from_tensor(Tensor::zeros([d_model], options()));
        match contender {
            Contender::Copy => Self::Copy,
            Contender::Ours => {
                let mut layer = RmsNormConfig::new(d_model)
                    .with_epsilon(EPSILON)
                    .init(device);
                layer.gamma = Some(ones());
                Self::Ours(layer)
            }
            Contender::BurnRmsNorm => {
                let config = nn::RmsNormConfig::new(d_model).with_epsilon(EPSILON);
                let mut layer = config.init(device);
                layer.gamma = ones();
                Self::BurnRmsNorm(layer)
            }
            Contender::BurnLayerNorm => {
                let config = nn::LayerNormConfig::new(d_model).with_epsilon(EPSILON);
                let mut layer = config.init(device);
                layer.gamma = ones();
                layer.beta = Some(zeros());
                Self::BurnLayerNorm(layer)
            }
        }
    }

    fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        match self {
            Self::Copy => x.mul_scalar(1.5),
            Self::Ours(layer) => layer.forward(x),
            Self::BurnRmsNorm(layer) => layer.forward(x),
            Self::BurnLayerNorm(layer) => layer.forward(x),
        }
    }

    fn parameters(&self) -> Vec<Tensor<1>> {
        let (gamma, beta) = match self {
            Self::Copy => (None, None),
            Self::Ours(layer) => (layer.gamma.as_ref(), None),
            Self::BurnRmsNorm(layer) => (Some(&layer.gamma), None),
            Self::BurnLayerNorm(layer) => (Some(&layer.gamma), layer.beta.as_ref()),
        };
        [gamma, beta]
            .into_iter()
            .flatten()
            .map(Param::val)
            .collect()
    }
}

/// Activations that calls take in turn.
fn activations(device: &Device, shape: Shape) -> Vec<Tensor<2>> {
    // Drawn without logarithms, which CUDA needs a toolkit for; their mean square is 1 as well.
    let uniform = Distribution::Uniform(-f64::sqrt(3.0), f64::sqrt(3.0));
    let dims = [shape.rows, shape.row_len];
    (0..shape.rotated())
        .map(|_| Tensor::<2>::random(dims, uniform, device).cast(shape.dtype()))
        .collect()
}

/// Without it a lazy backend would make one kernel of several calls.
fn flush(device: &Device) {
    if let Err(error) = device.flush() {
        panic!("{error}");
    }
}

/// x is kept, so that y is new memory.
fn forward(contender: Contender, device: &Device, shape: Shape) -> Call {
    let layer = Layer::new(contender, device, shape);
    let xs = activations(device, shape);
    let device = device.clone();
    Box::new(move |number| {
        let y = layer.forward(xs[number % xs.len()].clone());
        flush(&device);
        Kept {
            rows: vec![y],
            columns: vec![],
        }
    })
}

/// Forward, `y.backward()`, and the gradients of x and of all parameters.
fn training(contender: Contender, device: &Device, shape: Shape) -> Call {
    let layer = Layer::new(contender, device, shape);
    let xs: Vec<Tensor<2>> = activations(device, shape)
        .into_iter()
        .map(|x| x.detach().require_grad())
        .collect();
    let parameters = layer.parameters();
    let device = device.clone();
    Box::new(move |number| {
        let x = &xs[number % xs.len()];
        let gradients = layer.forward(x.clone()).backward();
        let kept = Kept {
            rows: x.grad(&gradients).into_iter().collect(),
            columns: parameters
                .iter()
                .filter_map(|parameter| parameter.grad(&gradients))
                .collect(),
        };
        assert!(!kept.rows.is_empty(), "x has no gradient");
        assert!(
            kept.columns.len() == parameters.len(),
            "a parameter has no gradient"
        );
        flush(&device);
        kept
    })
}

/// Our backward pass alone, by the contract that autodiff calls.
fn backward(device: &Device, shape: Shape) -> Call {
    let settings = RmsNormOptions::new(EPSILON).settings(shape.row_len);
    let gamma = Tensor::<1>::ones([shape.row_len], (device, shape.dtype()));
    let affine = Affine::<Dispatch>::Scale {
        gamma: gamma.into_dispatch(),
    };
    let primitive = |tensor: Tensor<2>| tensor.into_dispatch();
    let dys: Vec<_> = activations(device, shape)
        .into_iter()
        .map(primitive)
        .collect();
    let xs: Vec<_> = activations(device, shape)
        .into_iter()
        .map(primitive)
        .map(|x| {
            let (_, rstd) = Dispatch::rms_norm_with_rstd(x.clone(), affine.clone(), settings);
            (x, rstd)
        })
        .collect();
    let wanted = Wanted {
        dx: true,
        dgamma: true,
        dbeta: false,
    };
    let device = device.clone();
    Box::new(move |number| {
        let (x, rstd) = xs[number % xs.len()].clone();
        let dy = dys[number % dys.len()].clone();
        let gradients = Dispatch::rms_norm_backward(dy, x, rstd, affine.clone(), settings, wanted);
        let kept = Kept {
            rows: computed(gradients.dx),
            columns: computed(gradients.dgamma),
        };
        flush(&device);
        kept
    })
}

fn computed<const D: usize>(gradient: Gradient<Dispatch>) -> Vec<Tensor<D>> {
    match gradient {
        Gradient::Computed(tensor) => vec![Tensor::from_dispatch(tensor)],
        Gradient::Skipped => vec![],
    }
}

impl Kept {
    /// The first and the last row of every activation, and every column, are there and finite; with
    /// `norm`, the root of a row's mean square is that.
    ///
    /// A launch that failed is reported by whoever reads what it should have written.
    ///
    /// # Errors
    ///
    /// What is wrong with which values.
    pub fn verify(&self, norm: Option<f64>) -> Result<(), String> {
        for tensor in &self.rows {
            let [rows, row_len] = tensor.dims();
            for row in [0, rows - 1] {
                let values = tensor.clone().slice([row..row + 1, 0..row_len]);
                let rms = finite(values, &format!("row {row}"))?;
                if norm.is_some_and(|norm| (rms - norm).abs() > 0.02 * norm) {
                    return Err(format!("row {row} has norm {rms}, expected {norm:?}"));
                }
            }
        }
        self.columns
            .iter()
            .try_for_each(|tensor| finite(tensor.clone(), "a parameter's gradient").map(|_| ()))
    }
}

/// The root of the mean square.
fn finite<const D: usize>(tensor: Tensor<D>, what: &str) -> Result<f64, String> {
    let data = tensor
        .try_into_data()
        .map_err(|error| format!("{what}: {error}"))?;
    let values: Vec<f64> = data.iter().collect();
    let mean = values.iter().map(|v| v * v).sum::<f64>() / values.len() as f64;
    match mean.is_finite() {
        true => Ok(mean.sqrt()),
        false => Err(format!("{what} has a mean square of {mean}")),
    }
}
