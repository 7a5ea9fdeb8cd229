//! What do the properties of one case share?

use std::cell::OnceCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::case::Case;
use crate::compare::{Mismatch, Quantity, Summary, compare_exact};
use crate::oracle::{Backward, Forward};
use crate::subject::{Outcome, Subject, Want};
use crate::tolerance::tolerance;

/// One subject on one case. Runs and exact results that several properties need are made once.
pub struct Trial<'a> {
    /// What is judged.
    pub subject: &'a dyn Subject,
    /// On which case.
    pub case: &'a Case,
    training: OnceCell<Result<Outcome, String>>,
    inference: OnceCell<Result<Outcome, String>>,
    forward: OnceCell<Forward>,
    backward: OnceCell<Backward>,
}

impl<'a> Trial<'a> {
    /// A trial in which nothing has run yet.
    pub fn new(subject: &'a dyn Subject, case: &'a Case) -> Self {
        Self {
            subject,
            case,
            training: OnceCell::new(),
            inference: OnceCell::new(),
            forward: OnceCell::new(),
            backward: OnceCell::new(),
        }
    }

    /// The run in which every input is tracked.
    pub fn training(&self) -> Result<&Outcome, String> {
        let run = || self.run(self.case, Want::all(self.case.affine));
        self.training
            .get_or_init(run)
            .as_ref()
            .map_err(Clone::clone)
    }

    /// The run in which nothing is tracked.
    pub fn inference(&self) -> Result<&Outcome, String> {
        let run = || self.run(self.case, Want::NOTHING);
        self.inference
            .get_or_init(run)
            .as_ref()
            .map_err(Clone::clone)
    }

    /// A fresh run of this or a derived case. A panic becomes an error.
    pub fn run(&self, case: &Case, want: Want) -> Result<Outcome, String> {
        let outcome = catch_unwind(AssertUnwindSafe(|| self.subject.run(case, want)));
        outcome
            .unwrap_or_else(|panic| {
                let text = panic.downcast_ref::<&str>().map(|text| (*text).to_string());
                let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
                Err(text.unwrap_or_else(|| "no message".into()))
            })
            .map_err(|message| format!("the run that tracks {} failed: {message}", want.describe()))
    }

    /// The exact results of the forward pass.
    pub fn forward(&self) -> &Forward {
        self.forward.get_or_init(|| self.case.forward())
    }

    /// The exact results of the backward pass.
    pub fn backward(&self) -> &Backward {
        self.backward.get_or_init(|| self.case.backward())
    }

    /// Compares values of this case with the exact ones.
    ///
    /// The longest sum behind y has `stat_len` terms; behind dx, `row_len`; behind dbeta, one a
    /// row. A term of dgamma holds a statistic, so its sum counts as the longer of both.
    pub fn compare(&self, quantity: Quantity, got: &[f64]) -> Result<Summary, Mismatch> {
        let case = self.case;
        let (exact, kind, summed) = match quantity {
            Quantity::Y => (&self.forward().y, case.x_kind, case.stat_len()),
            Quantity::Dx => (&self.backward().dx, case.x_kind, case.row_len()),
            Quantity::Dgamma => (
                &self.backward().dgamma,
                case.gamma_kind,
                case.rows().max(case.stat_len()),
            ),
            Quantity::Dbeta => (&self.backward().dbeta, case.beta_kind, case.rows()),
        };
        compare_exact(
            case,
            quantity,
            got,
            exact,
            &tolerance(kind, case.statistic(), summed),
        )
    }
}
