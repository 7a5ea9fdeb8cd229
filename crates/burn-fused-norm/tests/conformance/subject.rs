//! A device in a mode, as a subject for the judge.

use burn::tensor::Device;
use fused_norm_testkit::{Case, FloatKind, Outcome, Subject, Values, Want};

use crate::common::devices;
use crate::inputs::Inputs;
use crate::tensors::dtype;
use crate::through_contract::Bodies;
use crate::{through_autodiff, through_contract};

/// How the operation is reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// The public function and `backward()`, every activation kept.
    Autodiff,
    /// The same, activations recomputed where Burn deems them cheap.
    Checkpointed,
    /// The contract's methods, the only way to hand dy over in a layout of our choice.
    Contract,
    /// The contract's default bodies.
    Decomposed,
}

impl Mode {
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
    /// Only once, with the inputs given away: for who does not ask whether inputs stay as they are.
    pub once: bool,
}

/// Values of a tensor, and their kind.
pub type Read = (Values, FloatKind);

/// What one evaluation returned.
#[derive(Clone)]
pub struct Results {
    pub y: Read,
    pub sum: Option<Read>,
    pub dx: Option<Read>,
    pub dsecond: Option<Read>,
    pub dgamma: Option<Read>,
    pub dbeta: Option<Read>,
}

impl Results {
    pub fn of_forward(y: Read, sum: Option<Read>) -> Self {
        Self {
            y,
            sum,
            dx: None,
            dsecond: None,
            dgamma: None,
            dbeta: None,
        }
    }

    /// The same tensors are there, with the same bits.
    fn same_bits(&self, other: &Self) -> bool {
        let all = |results: &Self| {
            let Results {
                y,
                sum,
                dx,
                dsecond,
                dgamma,
                dbeta,
            } = results.clone();
            [Some(y), sum, dx, dsecond, dgamma, dbeta]
        };
        let pairs = all(self).into_iter().zip(all(other));
        pairs.into_iter().all(|pair| match pair {
            (Some(a), Some(b)) => same_bits(&a.0, &b.0),
            (None, None) => true,
            _ => false,
        })
    }
}

impl Subject for OnDevice {
    fn name(&self) -> String {
        format!("{} {:?}", self.name, self.mode)
    }

    fn supports(&self, kind: FloatKind) -> bool {
        devices::computes(&self.device, dtype(kind))
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
    /// Runs twice: once with the only handles to the inputs given away, so that an implementation
    /// may overwrite them, and, unless once is enough, once with clones kept, so that it must not.
    fn run_rank<const B: usize, const D: usize>(
        &self,
        case: &Case,
        want: Want,
    ) -> Result<Outcome, String> {
        let device = self.mode.device(&self.device, want);
        let inputs = || Inputs::<D>::new::<B>(case, &device);
        let results = self.evaluate(case, want, inputs());

        let mut inputs_unchanged = true;
        if !self.once {
            let shared = inputs();
            let before = shared.read();
            let again = self.evaluate(case, want, shared.clone());
            if !results.same_bits(&again) && self.repeats() {
                return Err("results depend on whether a clone of an input is alive".into());
            }
            inputs_unchanged = same_bits(&before, &shared.read());
        }
        Ok(Outcome {
            y: results.y.0,
            y_kind: results.y.1,
            sum: results.sum,
            dx: results.dx,
            dsecond: results.dsecond,
            dgamma: results.dgamma,
            dbeta: results.dbeta,
            inputs_unchanged,
        })
    }

    fn evaluate<const D: usize>(&self, case: &Case, want: Want, inputs: Inputs<D>) -> Results {
        match self.mode {
            Mode::Autodiff | Mode::Checkpointed => through_autodiff::evaluate(case, want, inputs),
            Mode::Contract => through_contract::evaluate(Bodies::Native, case, want, inputs),
            Mode::Decomposed => through_contract::evaluate(Bodies::Default, case, want, inputs),
        }
    }
}

fn same_bits(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
}
