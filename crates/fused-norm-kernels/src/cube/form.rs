//! What a kernel computes, as far as its code depends on it.

use cubecl::ir::ElemType;

use super::Pass;
use super::types::statistic_type;
use crate::{GateOrder, Problem, Rounding};

/// What meets the rows of x.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OperandKind {
    /// Nothing.
    #[default]
    None,
    /// Rows that are added before the normalisation.
    Residual,
    /// Rows whose silu is multiplied, before or after the normalisation.
    Gate(GateOrder),
}

/// The part of the compile-time key that says what is computed; a [`Blueprint`](super::Blueprint)
/// says how. By default, `y = x·rstd·gamma + beta` with one gamma for all rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Form {
    /// What meets the rows of x.
    pub operand: OperandKind,
    /// The factor is `1 + gamma`.
    pub zero_centered: bool,
    /// Where a row is rounded on the way to y.
    pub rounding: Rounding,
    /// Rows take turns in several rows of gamma and beta.
    pub periodic: bool,
}

impl Form {
    /// The form of a problem: without what makes no difference to it, so that the plain kernels
    /// serve wherever they can.
    ///
    /// There is nothing to round before where the statistic has x's own type, with a gate, or backward.
    pub fn of(
        problem: &Problem,
        operand: OperandKind,
        has_gamma: bool,
        x: ElemType,
        pass: Pass,
    ) -> Self {
        let once = pass == Pass::Backward
            || statistic_type(x) == x
            || matches!(operand, OperandKind::Gate(_));
        Self {
            operand,
            zero_centered: has_gamma && problem.zero_centered(),
            rounding: if has_gamma && !once {
                problem.rounding()
            } else {
                Rounding::Once
            },
            periodic: has_gamma && problem.gamma_rows() > 1,
        }
    }

    /// Rows that are read for a row of y.
    pub fn inputs(&self) -> usize {
        match self.operand {
            OperandKind::None => 1,
            OperandKind::Residual | OperandKind::Gate(_) => 2,
        }
    }

    /// Rows are read beside x.
    pub(super) fn has_operand(&self) -> bool {
        self.operand != OperandKind::None
    }

    /// What is normalised is not x itself.
    pub(super) fn combines(&self) -> bool {
        self.adds() || self.gates_before()
    }

    pub(super) fn adds(&self) -> bool {
        self.operand == OperandKind::Residual
    }

    pub(super) fn gates(&self) -> bool {
        matches!(self.operand, OperandKind::Gate(_))
    }

    pub(super) fn gates_before(&self) -> bool {
        self.operand == OperandKind::Gate(GateOrder::BeforeNorm)
    }

    pub(super) fn gates_after(&self) -> bool {
        self.operand == OperandKind::Gate(GateOrder::AfterNorm)
    }

    pub(super) fn rounds_each_step(&self) -> bool {
        self.rounding == Rounding::BeforeGamma
    }
}

#[cfg(test)]
mod tests {
    use cubecl::ir::FloatKind;

    use super::*;

    /// A form is what the code of a kernel depends on: not how many rows gamma has, and nothing that makes
    /// no difference.
    #[test]
    fn forms_leave_out_what_makes_no_difference() {
        let (f32, bf16) = (
            ElemType::Float(FloatKind::F32),
            ElemType::Float(FloatKind::BF16),
        );
        let problem = Problem::new(12, 64, 64, 1e-5)
            .and_then(|problem| problem.with_gamma_rows(3))
            .unwrap()
            .with_zero_centered(true)
            .with_rounding(Rounding::BeforeGamma);
        let form = |has_gamma, x, pass| Form::of(&problem, OperandKind::None, has_gamma, x, pass);
        assert_eq!(form(false, bf16, Pass::Forward), Form::default());
        let full = form(true, bf16, Pass::Forward);
        assert!(full.zero_centered && full.periodic);
        assert_eq!(full.rounding, Rounding::BeforeGamma);
        let once = Form {
            rounding: Rounding::Once,
            ..full
        };
        assert_eq!(form(true, f32, Pass::Forward), once);
        assert_eq!(form(true, bf16, Pass::Backward), once);
        let gate = OperandKind::Gate(Default::default());
        let gated = Form::of(&problem, gate, true, bf16, Pass::Forward);
        assert_eq!(gated.rounding, Rounding::Once);
        let other = problem.with_gamma_rows(4).unwrap();
        let other = Form::of(&other, OperandKind::None, true, bf16, Pass::Forward);
        assert_eq!(other, full);
        let one = Problem::new(12, 64, 64, 1e-5).unwrap();
        let one = Form::of(&one, OperandKind::None, true, bf16, Pass::Forward);
        assert_eq!(one, Form::default());
    }

    #[test]
    fn what_meets_x_says_what_is_read_and_normalised() {
        use GateOrder::{AfterNorm, BeforeNorm};
        for (operand, inputs, combines, gates) in [
            (OperandKind::None, 1, false, [false; 3]),
            (OperandKind::Residual, 2, true, [false; 3]),
            (OperandKind::Gate(BeforeNorm), 2, true, [true, true, false]),
            (OperandKind::Gate(AfterNorm), 2, false, [true, false, true]),
        ] {
            let form = Form {
                operand,
                ..Form::default()
            };
            assert_eq!(form.inputs(), inputs, "{operand:?}");
            assert_eq!(form.has_operand(), inputs > 1, "{operand:?}");
            assert_eq!(form.combines(), combines, "{operand:?}");
            assert_eq!(form.adds(), operand == OperandKind::Residual);
            let of_form = [form.gates(), form.gates_before(), form.gates_after()];
            assert_eq!(of_form, gates, "{operand:?}");
            assert!(!form.rounds_each_step());
        }
        let rounded = Form {
            rounding: Rounding::BeforeGamma,
            ..Form::default()
        };
        assert!(rounded.rounds_each_step());
    }
}
