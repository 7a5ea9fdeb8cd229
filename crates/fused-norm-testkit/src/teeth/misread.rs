//! Mistakes that amount to computing another case.

use super::fault::Fault;
use super::scalar::Scalar;
use crate::case::{Case, Fill, GammaForm, GammaLayout, GateOrder, Rounding, Variant};

impl Scalar {
    /// The case as this implementation understands it.
    pub(super) fn misread(&self, case: &Case) -> Case {
        let mut read = case.clone();
        match self.fault {
            Some(Fault::LastAxis) if case.axis > 0 => {
                read.axis = 0;
                let len = read.row_len();
                read.gamma_layout = GammaLayout::Dense;
                read.gamma_fill = gamma(case, |gamma| repeated(gamma, len));
            }
            Some(Fault::GateOrdersSwapped) => {
                read.variant = match case.variant {
                    Variant::Gated(GateOrder::AfterNorm) => Variant::Gated(GateOrder::BeforeNorm),
                    Variant::Gated(GateOrder::BeforeNorm) => Variant::Gated(GateOrder::AfterNorm),
                    other => other,
                };
            }
            Some(Fault::ZeroCenteredIgnored) => read.zero_centered = false,
            Some(Fault::RoundsOnce) => read.rounding = Rounding::Once,
            Some(Fault::StatisticOverAxis) => {
                if let GammaForm::Groups(_) = case.gamma_form {
                    read.gamma_form = GammaForm::Row;
                }
            }
            Some(Fault::FirstGammaRow) if case.gamma_rows() > 1 => {
                read.gamma_layout = GammaLayout::Dense;
                let (row_len, len) = (case.row_len(), case.gamma_rows() * case.row_len());
                read.gamma_fill = gamma(case, |gamma| repeated(&gamma[..row_len], len));
            }
            Some(Fault::SumGradientDropped) => read.dsum_fill = None,
            _ => {}
        }
        read
    }
}

/// The fill that gives the changed values of gamma.
fn gamma(case: &Case, change: impl FnOnce(&[f64]) -> Vec<f64>) -> Fill {
    match case.gamma() {
        Some(gamma) => Fill::given(change(&gamma)),
        None => case.gamma_fill.clone(),
    }
}

fn repeated(values: &[f64], len: usize) -> Vec<f64> {
    values.iter().copied().cycle().take(len).collect()
}
