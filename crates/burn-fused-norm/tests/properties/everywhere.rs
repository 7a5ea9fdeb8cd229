//! A device in each mode in which random cases reach it.

use burn::tensor::{DType, Device, Tensor};
use fused_norm_testkit::{Case, FloatKind, Subject};

use crate::draw::Limits;
use crate::genes::Structure;
use crate::run;
use crate::subject::{Mode, OnDevice};
use crate::tensors::{dtype, read};

/// Of so many cases on a CubeCL device one is judged by every property, the others by their values: a
/// run takes milliseconds there, most of it to move tensors.
const ALL_PROPERTIES: u64 = 16;

pub struct Everywhere {
    autodiff: OnDevice,
    checkpointed: OnDevice,
    contract: OnDevice,
    /// The contract, run once.
    lean: OnDevice,
}

impl Everywhere {
    pub fn new(name: &'static str, device: &Device) -> Self {
        let on = |mode, once| OnDevice {
            name,
            device: device.clone(),
            mode,
            once,
        };
        Self {
            autodiff: on(Mode::Autodiff, false),
            checkpointed: on(Mode::Checkpointed, false),
            contract: on(Mode::Contract, false),
            lean: on(Mode::Contract, true),
        }
    }

    /// Runs without a kernel compiler.
    pub fn is_native(&self) -> bool {
        crate::devices::is_native(self.contract.name)
    }

    pub fn limits(&self) -> Limits {
        let kinds = FloatKind::ALL.into_iter();
        let native = self.is_native();
        Limits {
            kinds: kinds.filter(|kind| self.contract.supports(*kind)).collect(),
            // Burn's NdArray permutes, multiplies and reshapes tensors of up to six axes.
            rank: if self.contract.name == "ndarray" {
                6
            } else {
                8
            },
            whole_range: native,
            exponential_64: native,
            // The native kernels narrow by themselves; the others as Burn's `cast` does.
            narrows_64: native || self.narrows_once(),
        }
    }

    /// What is wrong with case `number`, if anything is.
    pub fn judge(&self, number: u64, structure: &Structure, case: &Case) -> Result<(), String> {
        if !self.is_native() && !number.is_multiple_of(ALL_PROPERTIES) {
            return run::judge_values(&self.lean, case);
        }
        run::judge(self.choose(structure, case), case, structure)
    }

    /// Burn's own operations around ours are kernels to compile as well, of every rank and type: the
    /// contract does without.
    fn choose(&self, structure: &Structure, case: &Case) -> &dyn Subject {
        let chosen = match structure.mode {
            0..=2 if self.is_native() => &self.autodiff,
            3 if self.is_native() => &self.checkpointed,
            0 if case.is_plain() && case.shape.len() <= 2 => &self.autodiff,
            _ => &self.contract,
        };
        match chosen.skips(case) {
            Some(_) => &self.contract,
            None => chosen,
        }
    }

    /// Does the device round f64 to 16 bits at once? Some round to f32 on the way, which makes a tie
    /// of what was none.
    fn narrows_once(&self) -> bool {
        const BESIDE_A_TIE: f64 = 0.421_997_078_537_033_7;
        let kinds = [FloatKind::F16, FloatKind::BF16];
        let right = |kind: FloatKind| {
            // The value beside a tie of this kind.
            let value = match kind {
                FloatKind::F16 => BESIDE_A_TIE,
                _ => 1.0 + 1.0 / 256.0 + 1e-9,
            };
            let options = (&self.contract.device, DType::F64);
            let wide = Tensor::<1>::from_data([value], options);
            read(wide.cast(dtype(kind))).0 == [kind.round(value)]
        };
        !self.contract.supports(FloatKind::F64)
            || kinds
                .into_iter()
                .filter(|kind| self.contract.supports(*kind))
                .all(right)
    }
}
