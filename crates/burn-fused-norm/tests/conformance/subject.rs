//! A device in a mode, as a subject for the judge.

use burn::backend::Dispatch;
use burn::backend::tensor::FloatTensor;
use burn::tensor::{Device, Tensor};
use burn_fused_norm::ops::rms_norm::{
    Affine, Gradient, Gradients, RmsNormOps, Settings, Wanted, decomposed,
};
use burn_fused_norm::{RmsNormOptions, rms_norm};
use fused_norm_testkit::{Case, FloatKind, Outcome, Subject, Values, Want};

use crate::tensors::{dtype, read, view};

/// Elements of a case above which only [`Mode::runs_large`] modes run it.
const LARGE: usize = 30_000;

/// The same on CubeCL devices, where [`Mode::Contract`] alone runs more: every shape and type there is
/// a kernel to compile, ours and those of the operations around it. `NORM_THOROUGH=1` lifts it.
const LARGE_ON_CUBE: usize = 200;

/// The same in [`Mode::Decomposed`], all of whose kernels are Burn's.
const LARGE_DECOMPOSED_ON_CUBE: usize = 64;

/// How the operation is reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// `rms_norm` and `backward()`, every activation kept.
    Autodiff,
    /// The same, activations recomputed where Burn deems them cheap.
    Checkpointed,
    /// The contract's methods, the only way to hand dy over in a layout of our choice.
    Contract,
    /// The contract's default bodies.
    Decomposed,
}

impl Mode {
    pub fn runs_large(self) -> bool {
        matches!(self, Self::Autodiff | Self::Contract)
    }

    /// The device on which the inputs are made.
    fn device(self, device: &Device, want: Want) -> Device {
        let device = device.clone();
        match self {
            Self::Autodiff if want.any() => device.autodiff(),
            Self::Checkpointed if want.any() => device.autodiff().gradient_checkpointing(),
            _ => device,
        }
    }
}

/// A device in a mode.
pub struct OnDevice {
    pub name: &'static str,
    pub device: Device,
    pub mode: Mode,
}

/// x, dy, gamma, beta.
#[derive(Clone)]
struct Inputs<const D: usize> {
    x: Tensor<D>,
    dy: Tensor<D>,
    gamma: Option<Tensor<1>>,
    beta: Option<Tensor<1>>,
}

type Grads = [Option<(Values, FloatKind)>; 3];

impl Subject for OnDevice {
    fn name(&self) -> String {
        format!("{} {:?}", self.name, self.mode)
    }

    fn supports(&self, kind: FloatKind) -> bool {
        self.device.supports_dtype(dtype(kind))
    }

    fn run(&self, case: &Case, want: Want) -> Result<Outcome, String> {
        match case.shape.len() {
            1 => self.run_rank::<0, 1>(case, want),
            2 => self.run_rank::<1, 2>(case, want),
            3 => self.run_rank::<2, 3>(case, want),
            4 => self.run_rank::<3, 4>(case, want),
            5 => self.run_rank::<4, 5>(case, want),
            6 => self.run_rank::<5, 6>(case, want),
            7 => self.run_rank::<6, 7>(case, want),
            8 => self.run_rank::<7, 8>(case, want),
            rank => Err(format!("no tensors of rank {rank} here")),
        }
    }
}

impl OnDevice {
    /// Why a case is not run here, if it is not.
    pub fn skips(&self, case: &Case) -> Option<&'static str> {
        let burns_own = self.mode != Mode::Contract;
        if self.name == "ndarray" && burns_own && case.shape.len() > 6 {
            return Some("Burn's NdArray multiplies and reshapes tensors of up to six axes");
        }
        let thorough = std::env::var_os("NORM_THOROUGH").is_some();
        let most = match self.mode {
            _ if self.is_native() || thorough => usize::MAX,
            Mode::Contract => usize::MAX,
            Mode::Decomposed => LARGE_DECOMPOSED_ON_CUBE,
            Mode::Autodiff | Mode::Checkpointed => LARGE_ON_CUBE,
        };
        let too_large =
            case.elements() > most || (case.elements() > LARGE && !self.mode.runs_large());
        too_large.then_some("long rows differ from short ones in the kernels, not in this mode")
    }

    /// Why a property is not asked here, if it is not: all are asked of our kernels.
    pub fn exempt(&self, property: &str) -> Option<&'static str> {
        const OTHER_SHAPE: [&str; 2] = ["batch invariance", "rank invariance"];
        const OTHER_CALL: [&str; 6] = [
            "inference equals training",
            "deterministic",
            "no memory of earlier calls",
            "whole partial equals none",
            "prefix independence",
            "rows are independent",
        ];
        if self.mode != Mode::Decomposed {
            None
        } else if OTHER_SHAPE.contains(&property) {
            Some("the order of the sums is the backend's, and may depend on the shape")
        } else if OTHER_CALL.contains(&property) && !self.repeats() {
            Some("the sums are Burn's, autotuned, and may change from call to call")
        } else {
            None
        }
    }

    /// The same inputs give the same bits. Burn's own reductions are autotuned on CubeCL devices:
    /// which of them runs may change from call to call.
    fn repeats(&self) -> bool {
        self.mode != Mode::Decomposed || self.is_native()
    }

    /// Runs without a kernel compiler.
    fn is_native(&self) -> bool {
        matches!(self.name, "flex" | "ndarray")
    }

    /// Runs twice: once with the only handles to the inputs given away, so that an implementation
    /// may overwrite them, and once with clones kept, so that it must not.
    fn run_rank<const B: usize, const D: usize>(
        &self,
        case: &Case,
        want: Want,
    ) -> Result<Outcome, String> {
        let device = self.mode.device(&self.device, want);
        let inputs = || inputs::<B, D>(case, &device);
        let ((y, y_kind), [dx, dgamma, dbeta]) = self.evaluate(case, want, inputs());

        let shared = inputs();
        let before = shared.read();
        let again = self.evaluate(case, want, shared.clone());
        let same = same_bits(&again.0.0, &y)
            && [&dx, &dgamma, &dbeta]
                .iter()
                .zip(&again.1)
                .all(|(a, b)| match (a, b) {
                    (Some(a), Some(b)) => same_bits(&a.0, &b.0),
                    (None, None) => true,
                    _ => false,
                });
        if !same && self.repeats() {
            return Err("results depend on whether a clone of an input is alive".into());
        }
        Ok(Outcome {
            y,
            y_kind,
            dx,
            dgamma,
            dbeta,
            inputs_unchanged: same_bits(&before, &shared.read()),
        })
    }

    fn evaluate<const D: usize>(
        &self,
        case: &Case,
        want: Want,
        inputs: Inputs<D>,
    ) -> ((Values, FloatKind), Grads) {
        let options = RmsNormOptions::new(case.epsilon).with_partial(case.partial);
        match self.mode {
            Mode::Autodiff | Mode::Checkpointed => through_autodiff(want, inputs, options),
            Mode::Contract => through_contract::<D, Native>(want, inputs, options),
            Mode::Decomposed => through_contract::<D, Default>(want, inputs, options),
        }
    }
}

impl<const D: usize> Inputs<D> {
    /// All values, one after the other.
    fn read(&self) -> Values {
        let mut values = read(self.x.clone()).0;
        values.extend(read(self.dy.clone()).0);
        for parameter in [&self.gamma, &self.beta].into_iter().flatten() {
            values.extend(read(parameter.clone()).0);
        }
        values
    }
}

fn same_bits(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
}

fn inputs<const B: usize, const D: usize>(case: &Case, device: &Device) -> Inputs<D> {
    let column = |base, kind| view::<2, 1>(&base, kind, device);
    Inputs {
        x: view::<B, D>(&case.base_x(), case.x_kind, device),
        dy: view::<B, D>(&case.base_dy(), case.x_kind, device),
        gamma: case.base_gamma().map(|base| column(base, case.gamma_kind)),
        beta: case.base_beta().map(|base| column(base, case.beta_kind)),
    }
}

fn through_autodiff<const D: usize>(
    want: Want,
    Inputs { x, dy, gamma, beta }: Inputs<D>,
    options: RmsNormOptions,
) -> ((Values, FloatKind), Grads) {
    if !want.any() {
        return (read(rms_norm(x, gamma, beta, options)), [None, None, None]);
    }
    let gamma = gamma.map(|gamma| gamma.set_require_grad(want.gamma));
    let beta = beta.map(|beta| beta.set_require_grad(want.beta));
    let x = x.set_require_grad(want.x);

    let y = rms_norm(x.clone(), gamma.clone(), beta.clone(), options);
    let gradients = (y.clone() * dy).sum().backward();
    let column = |tensor: Option<Tensor<1>>| Some(read(tensor?.grad(&gradients)?));
    let grads = [x.grad(&gradients).map(read), column(gamma), column(beta)];
    (read(y), grads)
}

/// The contract's methods, or their default bodies.
trait Bodies {
    fn forward(x: Primitive, affine: Affine<Dispatch>, settings: Settings) -> Primitive;
    fn forward_with_rstd(
        x: Primitive,
        affine: Affine<Dispatch>,
        settings: Settings,
    ) -> (Primitive, Primitive);
    fn backward(
        saved: [Primitive; 3],
        affine: Affine<Dispatch>,
        settings: Settings,
        wanted: Wanted,
    ) -> Gradients<Dispatch>;
}

type Primitive = FloatTensor<Dispatch>;

struct Native;
struct Default;

impl Bodies for Native {
    fn forward(x: Primitive, affine: Affine<Dispatch>, settings: Settings) -> Primitive {
        Dispatch::rms_norm(x, affine, settings)
    }

    fn forward_with_rstd(
        x: Primitive,
        affine: Affine<Dispatch>,
        settings: Settings,
    ) -> (Primitive, Primitive) {
        Dispatch::rms_norm_with_rstd(x, affine, settings)
    }

    fn backward(
        [dy, x, rstd]: [Primitive; 3],
        affine: Affine<Dispatch>,
        settings: Settings,
        wanted: Wanted,
    ) -> Gradients<Dispatch> {
        Dispatch::rms_norm_backward(dy, x, rstd, affine, settings, wanted)
    }
}

impl Bodies for Default {
    fn forward(x: Primitive, affine: Affine<Dispatch>, settings: Settings) -> Primitive {
        decomposed::rms_norm::<Dispatch>(x, affine, settings).0
    }

    fn forward_with_rstd(
        x: Primitive,
        affine: Affine<Dispatch>,
        settings: Settings,
    ) -> (Primitive, Primitive) {
        decomposed::rms_norm::<Dispatch>(x, affine, settings)
    }

    fn backward(
        [dy, x, rstd]: [Primitive; 3],
        affine: Affine<Dispatch>,
        settings: Settings,
        wanted: Wanted,
    ) -> Gradients<Dispatch> {
        decomposed::rms_norm_backward::<Dispatch>(dy, x, rstd, affine, settings, wanted)
    }
}

fn through_contract<const D: usize, Body: Bodies>(
    want: Want,
    Inputs { x, dy, gamma, beta }: Inputs<D>,
    options: RmsNormOptions,
) -> ((Values, FloatKind), Grads) {
    let settings = options.settings(x.shape()[D - 1]);
    let affine = match (gamma, beta) {
        (Some(gamma), Some(beta)) => Affine::ScaleShift {
            gamma: gamma.into_dispatch(),
            beta: beta.into_dispatch(),
        },
        (Some(gamma), None) => Affine::Scale {
            gamma: gamma.into_dispatch(),
        },
        _ => Affine::None,
    };
    if !want.any() {
        let y = Body::forward(x.into_dispatch(), affine, settings);
        return (read(Tensor::<D>::from_dispatch(y)), [None, None, None]);
    }
    let (y, rstd) = Body::forward_with_rstd(x.clone().into_dispatch(), affine.clone(), settings);
    let wanted = Wanted {
        dx: want.x,
        dgamma: want.gamma,
        dbeta: want.beta,
    };
    let saved = [dy.into_dispatch(), x.into_dispatch(), rstd];
    let Gradients { dx, dgamma, dbeta } = Body::backward(saved, affine, settings, wanted);
    let grads = [
        computed::<D>(dx),
        computed::<1>(dgamma),
        computed::<1>(dbeta),
    ];
    (read(Tensor::<D>::from_dispatch(y)), grads)
}

fn computed<const D: usize>(gradient: Gradient<Dispatch>) -> Option<(Values, FloatKind)> {
    match gradient {
        Gradient::Computed(tensor) => Some(read(Tensor::<D>::from_dispatch(tensor))),
        Gradient::Skipped => None,
    }
}
