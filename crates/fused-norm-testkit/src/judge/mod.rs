//! How is a subject judged?

mod bounds;
mod report;
mod trial;

pub use report::{Failure, Report};
pub use trial::Trial;

use crate::case::Case;
use crate::kind::FloatKind;
use crate::properties::{Property, Verdict};
use crate::subject::Subject;

/// Name under which a run that fails is reported; its properties are not looked at.
pub const RUNS: &str = "runs";

/// Judges a subject by every property on every case.
///
/// Cases of kinds that the subject does not support are skipped, and counted in the report with the
/// reason.
pub fn judge(subject: &dyn Subject, cases: &[Case], properties: &[Property]) -> Report {
    let mut report = Report {
        subject: subject.name(),
        ..Report::default()
    };
    for case in cases {
        if let Some(kind) = unsupported(subject, case) {
            report.skip("case", &format!("{kind} is not supported here"));
            continue;
        }
        report.cases += 1;
        let trial = Trial::new(subject, case);
        if let Err(message) = trial.training() {
            report.failures.push(Failure {
                property: RUNS,
                case: case.name.clone(),
                message: about(case, &message),
            });
            continue;
        }
        for property in properties {
            match (property.check)(&trial) {
                Verdict::Pass { error } => report.pass(property.name, &case.name, error),
                Verdict::Skip(reason) => report.skip(property.name, &reason),
                Verdict::Fail(message) => {
                    let message = about(case, &message);
                    report.failures.push(Failure {
                        property: property.name,
                        case: case.name.clone(),
                        message,
                    });
                }
            }
        }
    }
    report
}

/// The first case on which the subject fails a property, if there is one.
pub fn first_failure(
    subject: &dyn Subject,
    cases: &[Case],
    property: &Property,
) -> Option<Failure> {
    cases
        .iter()
        .filter(|case| unsupported(subject, case).is_none())
        .find_map(|case| match (property.check)(&Trial::new(subject, case)) {
            Verdict::Fail(message) => Some(Failure {
                property: property.name,
                case: case.name.clone(),
                message: about(case, &message),
            }),
            _ => None,
        })
}

/// The kind of the case that the subject does not support.
fn unsupported(subject: &dyn Subject, case: &Case) -> Option<FloatKind> {
    let mut kinds = vec![case.x_kind];
    if case.affine.has_gamma() {
        kinds.push(case.gamma_kind);
    }
    if case.affine.has_beta() {
        kinds.push(case.beta_kind);
    }
    kinds.into_iter().find(|kind| !subject.supports(*kind))
}

/// The message, with the name of the case and the command that runs it again unless it says so.
fn about(case: &Case, message: &str) -> String {
    let command = crate::compare::rerun(&case.name);
    if message.contains(&command) {
        message.into()
    } else {
        format!("{}: {message}\n  {command}", case.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties::properties;
    use crate::subject::{Outcome, Want};
    use crate::teeth::Scalar;

    /// Right in f32, absent elsewhere, and panics on rows of 2.
    struct Partial;

    impl Subject for Partial {
        fn name(&self) -> String {
            "partial subject".into()
        }

        fn supports(&self, kind: FloatKind) -> bool {
            kind == FloatKind::F32
        }

        fn run(&self, case: &Case, want: Want) -> Result<Outcome, String> {
            assert!(case.row_len() != 2, "rows of 2 are not for me");
            let mut outcome = Scalar::right().run(case, want)?;
            if case.row_len() == 3 {
                outcome.y[0] += 1.0;
            }
            Ok(outcome)
        }
    }

    #[test]
    fn a_report_tells_skips_failures_and_counts() {
        let mut cases = vec![Case::new("half", FloatKind::F16, &[1, 4])];
        cases.push(Case::new("two", FloatKind::F32, &[1, 2]));
        cases.push(Case::new("three", FloatKind::F32, &[1, 3]));
        cases.push(Case::new("four", FloatKind::F32, &[1, 4]));
        let report = judge(&Partial, &cases, &properties());
        assert!(!report.passed());
        let text = report.to_string();
        for part in [
            "partial subject: 3 cases",
            "skipped 1 x case: f16 is not supported here",
            "skipped 2 x dgamma values: there is no gamma",
            "FAILED runs: two: the run that tracks x failed: rows of 2 are not for me",
            "FAILED forward values: three: y: 1 of 3 elements are wrong",
            "NORM_FILTER=three cargo test",
        ] {
            assert!(text.contains(part), "{part:?} not in:\n{text}");
        }
        assert!(!text.contains("four: "), "{text}");
    }
}
