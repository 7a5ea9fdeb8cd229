//! What is not asked of a device in a mode, and why.

use burn::tensor::Tensor;
use fused_norm_testkit::{Case, FloatKind, Variant};

use crate::common::devices;
use crate::subject::{Mode, OnDevice};
use crate::tensors::{dtype, read};

/// Elements of a case above which only [`Mode::runs_large`] modes run it.
const LARGE: usize = 30_000;

/// The same on CubeCL devices, where [`Mode::Contract`] alone runs more: every shape and type there is
/// a kernel to compile, ours and those of the operations around it. `NORM_THOROUGH=1` lifts it.
const LARGE_ON_CUBE: usize = 200;

/// The same for the variants and where activations are recomputed, whose nodes do not depend on the
/// device, and in [`Mode::Decomposed`], all of whose kernels are Burn's.
const SMALL_ON_CUBE: usize = 64;

/// Of values larger than this, f32 cannot hold the sum of a row's squares.
const LARGEST_SQUARED: f64 = 1e17;

/// Of those smaller than this, f32 has not all digits.
const SMALLEST_EPSILON: f64 = f32::MIN_POSITIVE as f64;

impl Mode {
    fn runs_large(self) -> bool {
        matches!(self, Self::Autodiff | Self::Contract)
    }
}

impl OnDevice {
    /// Why a case is not run here, if it is not.
    pub fn skips(&self, case: &Case) -> Option<&'static str> {
        let burns_own = self.mode != Mode::Contract;
        if self.name == "ndarray" && burns_own && case.shape.len() > 6 {
            return Some("Burn's NdArray multiplies and reshapes tensors of up to six axes");
        }
        let has_gate = matches!(case.variant, Variant::Gated(_));
        if self.mode == Mode::Decomposed && has_gate && !self.exponential_is_right(case.x_kind) {
            return Some("Burn's exp of this type is wrong here: shaders have none of 64 bits");
        }
        let overflows = |x: &f64| x.abs() > LARGEST_SQUARED;
        if self.mode == Mode::Decomposed
            && case.x_kind != FloatKind::F64
            && (case.x().iter().any(overflows) || case.epsilon < SMALLEST_EPSILON)
        {
            return Some("the decomposed body squares what it is given, and has epsilon, in f32");
        }
        let thorough = std::env::var_os("NORM_THOROUGH").is_some();
        let most = match self.mode {
            _ if self.is_native() || thorough => usize::MAX,
            Mode::Contract => usize::MAX,
            Mode::Decomposed => SMALL_ON_CUBE,
            Mode::Autodiff if case.is_plain() => LARGE_ON_CUBE,
            Mode::Autodiff | Mode::Checkpointed => SMALL_ON_CUBE,
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

    /// Burn's exponential, of which the decomposed gate is made. Of 64 bits it is asked for: on wgpu,
    /// llvmpipe takes exp(90) for 0.
    fn exponential_is_right(&self, kind: FloatKind) -> bool {
        const ARGUMENTS: [f64; 4] = [-80.0, -1.0, 1.0, 80.0];
        if kind != FloatKind::F64 {
            return true;
        }
        let exponents = Tensor::<1>::from_data(ARGUMENTS, (&self.device, dtype(kind)));
        let (powers, _) = read(exponents.exp());
        let right = |(power, argument): (f64, f64)| (power / argument.exp() - 1.0).abs() < 1e-12;
        powers.into_iter().zip(ARGUMENTS).all(right)
    }

    /// The same inputs give the same bits. Burn's own reductions are autotuned on CubeCL devices:
    /// which of them runs may change from call to call.
    pub fn repeats(&self) -> bool {
        self.mode != Mode::Decomposed || self.is_native()
    }

    /// Runs without a kernel compiler.
    fn is_native(&self) -> bool {
        devices::is_native(self.name)
    }
}
