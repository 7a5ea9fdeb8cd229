//! The judge of burn-fused-norm.
//!
//! An implementation of RMSNorm or pRMSNorm, alone, behind a residual or with a gate, a
//! [`Subject`], is run on every [`Case`] of the [`catalogue()`] and judged by named
//! [`properties`](properties()): right values against an `f64` [`oracle`] within one
//! [`tolerance()`], and promises such as determinism and batch invariance. [`teeth()`] are
//! known-wrong subjects which the same properties must reject; [`Scalar::right`] is a plain subject
//! which must pass them all.
//!
//! Everything is host data, and nothing here depends on what is judged.
//!
//! ```
//! use fused_norm_testkit::{Scalar, catalogue, judge, properties};
//!
//! let cases: Vec<_> = catalogue().into_iter().filter(|case| case.elements() <= 8).collect();
//! let report = judge(&Scalar::right(), &cases, &properties());
//! assert!(report.passed(), "{report}");
//! ```

pub mod case;
pub mod catalogue;
pub mod compare;
pub mod judge;
pub mod kind;
pub mod llama;
pub mod oracle;
pub mod patterns;
pub mod properties;
pub mod random;
pub mod subject;
pub mod teeth;
pub mod tolerance;

pub use case::{
    AffineForm, Base, Case, Fill, GammaForm, GammaLayout, GateOrder, Layout, Rounding, Variant,
    ViewStep,
};
pub use catalogue::{catalogue, selected};
pub use compare::{Mismatch, Quantity, Summary, compare};
pub use judge::{Report, Trial, judge};
pub use kind::FloatKind;
pub use llama::llama_order;
pub use properties::{Property, Verdict, properties};
pub use random::Random;
pub use subject::{Outcome, Subject, Values, Want};
pub use teeth::{Scalar, Tooth, teeth};
pub use tolerance::{Tolerance, tolerance};
