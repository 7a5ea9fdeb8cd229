//! What is printed of a case that fails.

use fused_norm_testkit::{Case, GateOrder, Variant};

/// A case in one line, its values where they are few.
pub fn describe(case: &Case) -> String {
    let shown = |name: &str, values: Option<Vec<f64>>| match values {
        Some(values) if values.len() <= 16 => format!("\n    {name} {values:?}"),
        Some(values) => {
            let largest = values
                .iter()
                .fold(0.0_f64, |most, value| most.max(value.abs()));
            format!("\n    {name}: {} values up to {largest:e}", values.len())
        }
        None => String::new(),
    };
    let order = match case.variant {
        Variant::Gated(GateOrder::BeforeNorm) => "gate before the norm",
        Variant::Gated(GateOrder::AfterNorm) => "gate after the norm",
        Variant::Add => "add",
        Variant::Plain => "plain",
    };
    let mut text = format!(
        "{order}, {} {:?} axis {} from the end, {:?} {:?} {:?}, gamma {} {:?} beta {}, \
         zero_centered {}, rounding {:?}, partial {:?} (stat_len {} of {}), epsilon {:e}",
        case.x_kind,
        case.shape,
        case.axis,
        case.x_layout,
        case.dy_layout,
        case.second_layout,
        case.gamma_kind,
        (case.affine, case.gamma_form, case.gamma_layout),
        case.beta_kind,
        case.zero_centered,
        case.rounding,
        case.partial,
        case.stat_len(),
        case.row_len(),
        case.epsilon,
    );
    text += &shown("x", Some(case.x()));
    text += &shown("dy", Some(case.dy()));
    text += &shown("second", case.second());
    text += &shown("dsum", case.dsum());
    text += &shown("gamma", case.gamma());
    text
}
