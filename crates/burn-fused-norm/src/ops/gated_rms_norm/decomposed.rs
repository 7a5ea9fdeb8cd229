//! The operation in primitive tensor operations: the readable version, and what a backend without
//! a kernel of its own runs.

use alloc::vec;

use burn::backend::Backend;
use burn::backend::TensorMetadata;
use burn::backend::tensor::FloatTensor;
use burn::tensor::Shape;

use super::{GateOrder, GatedGradients, GatedSettings, GatedWanted};
use crate::ops::rms_norm::decomposed::{
    as_rows, float_dtype, gradients_of_rows, normalise, rstd_of_nothing, scale_and_shift,
    statistic, without_rows,
};
use crate::ops::rms_norm::{Affine, Gradient, Gradients, Rounding, Settings, Wanted};

/// `y` of x's shape and type; rstd, of [`Settings::rstd_shape`], in f64 where x is f64 and in f32
/// elsewhere.
pub fn gated_rms_norm<B: Backend>(
    x: FloatTensor<B>,
    gate: FloatTensor<B>,
    affine: Affine<B>,
    settings: GatedSettings,
) -> (FloatTensor<B>, FloatTensor<B>) {
    let shape = x.shape();
    let output = float_dtype::<B>(&x);
    if shape.num_elements() == 0 {
        let rstd = rstd_of_nothing::<B>(&x, settings.norm);
        return (x, rstd);
    }
    let order = settings.order;
    let settings = rounded_once(settings.norm);
    let wide = |tensor| B::float_cast(as_rows::<B>(tensor, settings), statistic(output));
    let (x, gate) = (wide(x), Gate::<B>::new(wide(gate)));
    let (y, rstd) = match order {
        GateOrder::AfterNorm => {
            let (normed, rstd) = normalise::<B>(x, settings);
            let normed = scale_and_shift::<B>(normed, affine, settings, output);
            let normed = as_rows::<B>(normed, settings);
            (B::float_mul(normed, gate.silu()), rstd)
        }
        GateOrder::BeforeNorm => {
            let (normed, rstd) = normalise::<B>(B::float_mul(x, gate.silu()), settings);
            (scale_and_shift::<B>(normed, affine, settings, output), rstd)
        }
    };
    (
        B::float_reshape(B::float_cast(y, output), shape.clone()),
        B::float_reshape(rstd, settings.rstd_shape(&shape)),
    )
}

/// The gradients of [`gated_rms_norm`]; the formulas are derived in `docs/math.md`.
pub fn gated_rms_norm_backward<B: Backend>(
    dy: FloatTensor<B>,
    x: FloatTensor<B>,
    gate: FloatTensor<B>,
    rstd: FloatTensor<B>,
    affine: Affine<B>,
    settings: GatedSettings,
    wanted: GatedWanted,
) -> GatedGradients<B> {
    let shape = x.shape();
    let output = float_dtype::<B>(&x);
    if shape.num_elements() == 0 {
        let Gradients { dx, dgamma, dbeta } = without_rows::<B>(dy, &affine, wanted.norm);
        let dgate = match wanted.dgate {
            true => Gradient::Computed(gate),
            false => Gradient::Skipped,
        };
        return GatedGradients {
            dx,
            dgate,
            dgamma,
            dbeta,
        };
    }
    let order = settings.order;
    let settings = rounded_once(settings.norm);
    let wide = |tensor| B::float_cast(as_rows::<B>(tensor, settings), statistic(output));
    let (dy, x, gate) = (wide(dy), wide(x), Gate::<B>::new(wide(gate)));
    let gradients = |dy, x, wanted: Wanted| {
        gradients_of_rows::<B>(dy, x, rstd.clone(), &affine, settings, wanted)
    };
    let (norm, dgate) = match order {
        GateOrder::AfterNorm => {
            let dn = B::float_mul(dy.clone(), gate.silu());
            let norm = gradients(dn, x.clone(), wanted.norm);
            let dgate = wanted.dgate.then(|| {
                let rows = x.shape()[0];
                let rstd = B::float_reshape(rstd.clone(), Shape::from(vec![rows, 1]));
                let normed = B::float_mul(x, rstd);
                let normed = scale_and_shift::<B>(normed, affine.clone(), settings, output);
                let normed = as_rows::<B>(normed, settings);
                B::float_mul(B::float_mul(dy, normed), gate.derivative())
            });
            (norm, dgate)
        }
        GateOrder::BeforeNorm => {
            let gated = B::float_mul(x.clone(), gate.silu());
            let needed = Wanted {
                dx: wanted.norm.dx || wanted.dgate,
                ..wanted.norm
            };
            let mut norm = gradients(dy, gated, needed);
            let mut dgate = None;
            if let Gradient::Computed(du) = norm.dx {
                dgate = wanted
                    .dgate
                    .then(|| B::float_mul(B::float_mul(du.clone(), x), gate.derivative()));
                norm.dx = match wanted.norm.dx {
                    true => Gradient::Computed(B::float_mul(du, gate.silu())),
                    false => Gradient::Skipped,
                };
            }
            (norm, dgate)
        }
    };
    let like_x = |gradient| B::float_reshape(B::float_cast(gradient, output), shape.clone());
    GatedGradients {
        dx: match norm.dx {
            Gradient::Computed(dx) => Gradient::Computed(like_x(dx)),
            Gradient::Skipped => Gradient::Skipped,
        },
        dgate: dgate.map_or(Gradient::Skipped, |dgate| Gradient::Computed(like_x(dgate))),
        dgamma: norm.dgamma,
        dbeta: norm.dbeta,
    }
}

/// A gated norm has one rounding, whatever a plain one has.
fn rounded_once(settings: Settings) -> Settings {
    Settings {
        rounding: Rounding::Once,
        ..settings
    }
}

/// A gate `v`, with `σ(v) = 1/(1 + exp(−v))`.
struct Gate<B: Backend> {
    value: FloatTensor<B>,
    sigmoid: FloatTensor<B>,
}

impl<B: Backend> Gate<B> {
    fn new(value: FloatTensor<B>) -> Self {
        let power = B::float_exp(B::float_neg(value.clone()));
        let sigmoid = B::float_recip(B::float_add_scalar(power, 1.0.into()));
        Self { value, sigmoid }
    }

    /// `silu(v) = v·σ(v)`
    fn silu(&self) -> FloatTensor<B> {
        B::float_mul(self.value.clone(), self.sigmoid.clone())
    }

    /// `silu'(v) = σ(v)·(1 + v·(1 − σ(v)))`
    fn derivative(&self) -> FloatTensor<B> {
        let complement = B::float_add_scalar(B::float_neg(self.sigmoid.clone()), 1.0.into());
        let slope = B::float_add_scalar(B::float_mul(self.value.clone(), complement), 1.0.into());
        B::float_mul(self.sigmoid.clone(), slope)
    }
}
