//! What is said after judging?

use std::collections::BTreeMap;
use std::fmt;

/// A property that a case does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Name of the property.
    pub property: &'static str,
    /// Name of the case.
    pub case: String,
    /// What was found.
    pub message: String,
}

/// The result of judging a subject.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Name of the subject.
    pub subject: String,
    /// Number of cases that ran.
    pub cases: usize,
    /// Number of checks that passed.
    pub passed: usize,
    /// Everything that failed.
    pub failures: Vec<Failure>,
    /// How many checks of which property were skipped, and why.
    pub skips: BTreeMap<(String, String), usize>,
    /// For each property that measures, the largest part of the allowed error that was used, and the
    /// case.
    pub worst: BTreeMap<&'static str, (f64, String)>,
}

/// Number of failures of one property that a report prints in full.
const IN_FULL: usize = 3;

impl Report {
    /// Did nothing fail?
    pub fn passed(&self) -> bool {
        self.failures.is_empty()
    }

    /// # Panics
    ///
    /// Panics with the report when something failed, or when nothing was checked.
    pub fn assert_passed(&self) {
        assert!(self.passed() && self.passed > 0, "{self}");
    }

    pub(crate) fn skip(&mut self, what: &str, reason: &str) {
        *self.skips.entry((what.into(), reason.into())).or_default() += 1;
    }

    pub(crate) fn pass(&mut self, property: &'static str, case: &str, error: f64) {
        self.passed += 1;
        let worst = self
            .worst
            .entry(property)
            .or_insert_with(|| (0.0, String::new()));
        if error > worst.0 {
            *worst = (error, case.into());
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            subject,
            cases,
            passed,
            failures,
            skips,
            worst,
        } = self;
        let skipped: usize = skips.values().sum();
        writeln!(
            f,
            "{subject}: {cases} cases, {passed} checks passed, {} failed, {skipped} skipped",
            failures.len()
        )?;
        for ((what, reason), count) in skips {
            writeln!(f, "  skipped {count} x {what}: {reason}")?;
        }
        for (property, (error, case)) in worst.iter().filter(|(_, (error, _))| *error > 0.0) {
            writeln!(
                f,
                "  worst {property}: {error:.2} of the slack used, in {case}"
            )?;
        }
        let mut shown = BTreeMap::<&str, usize>::new();
        for failure in failures {
            let shown = shown.entry(failure.property).or_default();
            *shown += 1;
            if *shown <= IN_FULL {
                writeln!(f, "FAILED {}: {}", failure.property, failure.message)?;
            }
        }
        for (property, count) in shown {
            if count > IN_FULL {
                let of_it = failures
                    .iter()
                    .filter(|failure| failure.property == property);
                let cases: Vec<&str> = of_it
                    .skip(IN_FULL)
                    .map(|failure| failure.case.as_str())
                    .collect();
                writeln!(
                    f,
                    "FAILED {property} in {} more cases: {}",
                    cases.len(),
                    cases.join(" ")
                )?;
            }
        }
        Ok(())
    }
}
