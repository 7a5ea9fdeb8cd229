//! Which function of the library a case is about, and what it is told.

use burn::backend::Dispatch;
use burn::tensor::Tensor;
use burn_fused_norm::ops::add_rms_norm::AddRmsNormOps;
use burn_fused_norm::ops::gated_rms_norm::{GatedRmsNormOps, GatedSettings};
use burn_fused_norm::ops::rms_norm::{Affine, RmsNormOps, Settings};
use burn_fused_norm::{
    GateOrder, RmsNormOptions, Rounding, add_rms_norm, gated_rms_norm, per_head_rms_norm, rms_norm,
};
use fused_norm_testkit::{self as testkit, Case, GammaForm, Variant};

use crate::inputs::Parameter;

/// y, and the sum where it is an output.
pub fn forward<const D: usize>(
    case: &Case,
    x: Tensor<D>,
    second: Option<Tensor<D>>,
    gamma: Option<Parameter>,
    beta: Option<Parameter>,
) -> (Tensor<D>, Option<Tensor<D>>) {
    let options = options(case);
    let row = |parameter: Option<Parameter>| parameter.map(Parameter::into_row);
    match (case.variant, case.gamma_form, second) {
        (Variant::Plain, GammaForm::Heads, _) => match (gamma, beta) {
            (Some(Parameter::Heads(gamma)), None) => (per_head_rms_norm(x, gamma, options), None),
            // Without gamma, or with beta: what the public function does not offer.
            (gamma, beta) => {
                let affine = affine(gamma, beta);
                let y = Dispatch::rms_norm(x.into_dispatch(), affine, settings(case));
                (Tensor::from_dispatch(y), None)
            }
        },
        (Variant::Plain, _, _) => (rms_norm(x, row(gamma), row(beta), options), None),
        // Heads beside a residual or a gate: what no public function offers.
        (Variant::Add, GammaForm::Heads, Some(residual)) => {
            let (x, residual) = (x.into_dispatch(), residual.into_dispatch());
            let affine = affine(gamma, beta);
            let (y, sum) = Dispatch::add_rms_norm(x, residual, affine, settings(case));
            (Tensor::from_dispatch(y), Some(Tensor::from_dispatch(sum)))
        }
        (Variant::Gated(order), GammaForm::Heads, Some(gate)) => {
            let (x, gate) = (x.into_dispatch(), gate.into_dispatch());
            let settings = GatedSettings {
                norm: settings(case),
                order: self::order(order),
            };
            let y = Dispatch::gated_rms_norm(x, gate, affine(gamma, beta), settings);
            (Tensor::from_dispatch(y), None)
        }
        (Variant::Add, _, Some(residual)) => {
            let (y, sum) = add_rms_norm(x, residual, row(gamma), row(beta), options);
            (y, Some(sum))
        }
        (Variant::Gated(order), _, Some(gate)) => {
            let order = self::order(order);
            (
                gated_rms_norm(x, gate, row(gamma), row(beta), order, options),
                None,
            )
        }
        (variant, _, None) => unreachable!("{variant:?} has a second operand"),
    }
}

pub fn affine(gamma: Option<Parameter>, beta: Option<Parameter>) -> Affine<Dispatch> {
    Affine::of(
        gamma.map(Parameter::into_dispatch),
        beta.map(Parameter::into_dispatch),
    )
}

/// What the contract is told.
pub fn settings(case: &Case) -> Settings {
    Settings {
        gamma_rows: case.gamma_rows(),
        ..options(case).settings(case.d_model())
    }
}

pub fn order(order: testkit::GateOrder) -> GateOrder {
    match order {
        testkit::GateOrder::AfterNorm => GateOrder::AfterNorm,
        testkit::GateOrder::BeforeNorm => GateOrder::BeforeNorm,
    }
}

fn options(case: &Case) -> RmsNormOptions {
    RmsNormOptions::new(case.epsilon)
        .with_partial(case.partial)
        .with_zero_centered(case.zero_centered)
        .with_rounding(match case.rounding {
            testkit::Rounding::Once => Rounding::Once,
            testkit::Rounding::BeforeGamma => Rounding::BeforeGamma,
        })
        .with_groups(match case.gamma_form {
            GammaForm::Groups(groups) => groups,
            _ => 1,
        })
        .with_axis(case.axis)
}
