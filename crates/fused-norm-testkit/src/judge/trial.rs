//! What do the properties of one case share?

use std::cell::OnceCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::bounds::{Staged, read_added};
use crate::case::Case;
use crate::compare::{Mismatch, Quantity, Summary, compare_each, compare_exact};
use crate::oracle::{Backward, Exact, Forward};
use crate::subject::{Outcome, Subject, Want};
use crate::tolerance::{Tolerance, tolerance};

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
    staged: OnceCell<Staged>,
    dsum: OnceCell<Option<Vec<f64>>>,
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
            staged: OnceCell::new(),
            dsum: OnceCell::new(),
        }
    }

    /// The run in which every input is tracked.
    pub fn training(&self) -> Result<&Outcome, String> {
        let run = || self.run(self.case, Want::all(self.case));
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
    /// The longest sum behind y has `stat_len` terms; behind dx, `row_len`; behind dbeta, one for
    /// each row that shares it. A term of dgamma holds a statistic, so its sum counts as the longer
    /// of both. The updated residual stream is one addition, exact in the statistic's kind or
    /// rounded to it, and is right only where it is correctly rounded.
    ///
    /// # Panics
    ///
    /// Panics when the case has no such quantity.
    pub fn compare(&self, quantity: Quantity, got: &[f64]) -> Result<Summary, Mismatch> {
        let case = self.case;
        let rows = case.rows() / case.gamma_rows();
        let (exact, kind, summed) = match quantity {
            Quantity::Y if case.rounds_before_gamma() => {
                let staged = self.staged.get_or_init(|| Staged::y(case));
                return compare_each(case, quantity, got, &staged.want, |index, got| {
                    staged.read(index, got)
                });
            }
            Quantity::Y => (&self.forward().y, case.x_kind, case.stat_len()),
            Quantity::Sum => {
                let exact = self.forward().sum.as_ref().expect("a sum");
                let tolerance = Tolerance {
                    relative: 0.0,
                    ..tolerance(case.x_kind, case.statistic(), 0)
                };
                return compare_exact(case, quantity, got, exact, &tolerance);
            }
            Quantity::Dx => (&self.backward().dx, case.x_kind, case.row_len()),
            Quantity::Dsecond => {
                let exact = self.backward().dsecond.as_ref().expect("a second operand");
                (exact, case.x_kind, case.row_len())
            }
            Quantity::Dgamma => (
                &self.backward().dgamma,
                case.gamma_kind,
                rows.max(case.stat_len()),
            ),
            Quantity::Dbeta => (&self.backward().dbeta, case.beta_kind, rows),
        };
        let tolerance = tolerance(kind, case.statistic(), summed);
        let dsum = self.dsum.get_or_init(|| case.dsum());
        match (quantity, dsum) {
            (Quantity::Dx | Quantity::Dsecond, Some(dsum)) => {
                let Exact { values, magnitudes } = exact;
                compare_each(case, quantity, got, values, |index, got| {
                    let (want, magnitude) = (values[index], magnitudes[index]);
                    read_added(&tolerance, got, want, magnitude, dsum[index])
                })
            }
            _ => compare_exact(case, quantity, got, exact, &tolerance),
        }
    }
}
