//! Would the judge notice?
//!
//! Known-wrong implementations, each a right one with a single mistake, and the property that must
//! reject it. A judge that lets one of them pass is itself at fault.

mod backward;
mod fault;
mod misread;
mod operands;
mod scalar;
mod statistic;

pub use fault::Fault;
pub use scalar::Scalar;

use crate::case::Case;
use crate::catalogue::catalogue;
use crate::subject::Subject;

/// A known-wrong subject.
pub struct Tooth {
    /// What is wrong with it.
    pub fault: Fault,
    /// Name of the property that must reject it.
    pub rejected_by: &'static str,
    /// The subject.
    pub subject: Box<dyn Subject>,
}

/// Cases with more elements than this are not needed to reject any tooth.
pub const TEETH_ELEMENTS: usize = 10_000;

/// The part of the catalogue on which teeth are judged: cases of at most [`TEETH_ELEMENTS`].
pub fn teeth_cases() -> Vec<Case> {
    catalogue()
        .into_iter()
        .filter(|case| case.elements() <= TEETH_ELEMENTS)
        .collect()
}

/// Every known-wrong subject.
pub fn teeth() -> Vec<Tooth> {
    let tooth = |fault: &Fault| Tooth {
        fault: *fault,
        rejected_by: fault.rejected_by(),
        subject: Box::new(Scalar::wrong(*fault)),
    };
    Fault::ALL.iter().map(tooth).collect()
}
