//! Modules: parameters, configuration, display. The mathematics is in [`ops`](crate::ops).

mod config;
mod per_head_rms_norm;
mod rms_norm;

pub use config::RmsNormConfig;
pub use per_head_rms_norm::{PerHeadRmsNorm, PerHeadRmsNormConfig};
pub use rms_norm::RmsNorm;

use burn::module::{Content, Param};
use burn::tensor::{DType, Tensor};

use crate::ops::rms_norm::Rounding;

/// Shows the conventions that differ from plain RMSNorm.
fn conventions(
    mut content: Content,
    partial: Option<f64>,
    zero_centered: bool,
    rounding: Rounding,
) -> Content {
    if let Some(partial) = partial {
        content = content.add("partial", &partial);
    }
    if zero_centered {
        content = content.add("zero_centered", &true);
    }
    if rounding != Rounding::Once {
        content = content.add_debug_attribute("rounding", &rounding);
    }
    content
}

/// The values of a parameter; of a quantised one, those that it stands for.
fn values<const D: usize>(parameter: &Param<Tensor<D>>) -> Tensor<D> {
    let tensor = parameter.val();
    match tensor.dtype() {
        DType::QFloat(_) => tensor.dequantize(),
        _ => tensor,
    }
}
