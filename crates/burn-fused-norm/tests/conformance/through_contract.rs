//! A case through the contracts' methods, or their default bodies: the only way to hand dy over in a
//! layout of our choice.

use burn::backend::Dispatch;
use burn::backend::tensor::FloatTensor;
use burn::tensor::Tensor;
use burn_fused_norm::ops::add_rms_norm::{self, AddRmsNormOps};
use burn_fused_norm::ops::gated_rms_norm::{
    self, GatedGradients, GatedRmsNormOps, GatedSettings, GatedWanted,
};
use burn_fused_norm::ops::rms_norm::{
    self, Affine, Gradient, Gradients, RmsNormOps, Settings, Wanted,
};
use fused_norm_testkit::{Case, FloatKind, GammaForm, Values, Variant, Want};

use crate::inputs::Inputs;
use crate::operation::{affine, order, settings};
use crate::subject::Results;
use crate::tensors::read;

type Primitive = FloatTensor<Dispatch>;

/// Whose bodies run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bodies {
    /// The backend's.
    Native,
    /// The default ones.
    Default,
}

pub fn evaluate<const D: usize>(
    bodies: Bodies,
    case: &Case,
    want: Want,
    inputs: Inputs<D>,
) -> Results {
    let rows = |tensor: Tensor<D>| {
        let axis = D - 1 - case.axis;
        tensor.movedim(axis, D - 1).into_dispatch()
    };
    let read_rows = |tensor: Primitive| {
        let axis = D - 1 - case.axis;
        read(Tensor::<D>::from_dispatch(tensor).movedim(D - 1, axis))
    };
    let call = Call {
        bodies,
        affine: affine(inputs.gamma, inputs.beta),
        settings: settings(case),
    };
    let (x, second) = (rows(inputs.x), inputs.second.map(rows));
    let saved = match want.any() {
        true => Some((x.clone(), second.clone())),
        false => None,
    };
    let Forward { y, sum, rstd } = call.forward(case.variant, x, second, want.any());
    let mut results = Results::of_forward(read_rows(y), sum.clone().map(read_rows));
    let Some((x, second)) = saved else {
        return results;
    };
    let (dy, rstd) = (rows(inputs.dy), rstd.expect("rstd was asked for"));
    let mut gradients = call.backward(case.variant, dy, x, second, sum, rstd, want);
    if let Some(dsum) = inputs.dsum {
        let added = |dx| Tensor::<D>::from_dispatch(dx) + Tensor::from_dispatch(rows(dsum));
        gradients.dx = gradients.dx.map(|dx| added(dx).into_dispatch());
    }
    if case.variant == Variant::Add {
        gradients.dgate = gradients.dx.clone().filter(|_| want.second);
        gradients.dx = gradients.dx.filter(|_| want.x);
    }
    let parameter = |gradient: Option<Primitive>| gradient.map(|it| read_parameter(case, it));
    results.dx = gradients.dx.map(read_rows);
    results.dsecond = gradients.dgate.map(read_rows);
    results.dgamma = parameter(gradients.dgamma);
    results.dbeta = parameter(gradients.dbeta);
    results
}

fn read_parameter(case: &Case, gradient: Primitive) -> (Values, FloatKind) {
    match case.gamma_form {
        GammaForm::Heads => read(Tensor::<2>::from_dispatch(gradient)),
        _ => read(Tensor::<1>::from_dispatch(gradient)),
    }
}

struct Forward {
    y: Primitive,
    sum: Option<Primitive>,
    rstd: Option<Primitive>,
}

struct Backward {
    dx: Option<Primitive>,
    dgate: Option<Primitive>,
    dgamma: Option<Primitive>,
    dbeta: Option<Primitive>,
}

/// What the calls of a case share.
struct Call {
    bodies: Bodies,
    affine: Affine<Dispatch>,
    settings: Settings,
}

impl Call {
    fn forward(
        &self,
        variant: Variant,
        x: Primitive,
        second: Option<Primitive>,
        with_rstd: bool,
    ) -> Forward {
        let (affine, settings) = (self.affine.clone(), self.settings);
        let native = self.bodies == Bodies::Native;
        let mut sum = None;
        let (y, rstd) = match variant {
            Variant::Plain if !native => rms_norm::decomposed::rms_norm(x, affine, settings).some(),
            Variant::Plain if with_rstd => Dispatch::rms_norm_with_rstd(x, affine, settings).some(),
            Variant::Plain => (Dispatch::rms_norm(x, affine, settings), None),
            Variant::Add => {
                let residual = second.expect("a residual");
                let (y, of_both, rstd) = match (native, with_rstd) {
                    (false, _) => {
                        add_rms_norm::decomposed::add_rms_norm(x, residual, affine, settings).some()
                    }
                    (true, true) => {
                        Dispatch::add_rms_norm_with_rstd(x, residual, affine, settings).some()
                    }
                    (true, false) => {
                        let (y, sum) = Dispatch::add_rms_norm(x, residual, affine, settings);
                        (y, sum, None)
                    }
                };
                sum = Some(of_both);
                (y, rstd)
            }
            Variant::Gated(_) => {
                let (gate, settings) = (second.expect("a gate"), self.gated(variant));
                match (native, with_rstd) {
                    (false, _) => {
                        gated_rms_norm::decomposed::gated_rms_norm(x, gate, affine, settings).some()
                    }
                    (true, true) => {
                        Dispatch::gated_rms_norm_with_rstd(x, gate, affine, settings).some()
                    }
                    (true, false) => (Dispatch::gated_rms_norm(x, gate, affine, settings), None),
                }
            }
        };
        Forward { y, sum, rstd }
    }

    #[allow(clippy::too_many_arguments)] // as the contract
    fn backward(
        &self,
        variant: Variant,
        dy: Primitive,
        x: Primitive,
        second: Option<Primitive>,
        sum: Option<Primitive>,
        rstd: Primitive,
        want: Want,
    ) -> Backward {
        let (affine, settings) = (self.affine.clone(), self.settings);
        let native = self.bodies == Bodies::Native;
        let mut wanted = Wanted {
            dx: want.x,
            dgamma: want.gamma,
            dbeta: want.beta,
        };
        if let Variant::Gated(_) = variant {
            let (gate, settings) = (second.expect("a gate"), self.gated(variant));
            let wanted = GatedWanted {
                norm: wanted,
                dgate: want.second,
            };
            let backward = match native {
                true => Dispatch::gated_rms_norm_backward,
                false => gated_rms_norm::decomposed::gated_rms_norm_backward,
            };
            let GatedGradients {
                dx,
                dgate,
                dgamma,
                dbeta,
            } = backward(dy, x, gate, rstd, affine, settings, wanted);
            return Backward {
                dx: computed(dx),
                dgate: computed(dgate),
                dgamma: computed(dgamma),
                dbeta: computed(dbeta),
            };
        }
        wanted.dx |= want.second;
        let backward = match native {
            true => Dispatch::rms_norm_backward,
            false => rms_norm::decomposed::rms_norm_backward,
        };
        let x = sum.unwrap_or(x);
        let Gradients { dx, dgamma, dbeta } = backward(dy, x, rstd, affine, settings, wanted);
        Backward {
            dx: computed(dx),
            dgate: None,
            dgamma: computed(dgamma),
            dbeta: computed(dbeta),
        }
    }

    fn gated(&self, variant: Variant) -> GatedSettings {
        let Variant::Gated(order) = variant else {
            unreachable!("{variant:?} has no gate")
        };
        GatedSettings {
            norm: self.settings,
            order: self::order(order),
        }
    }
}

fn computed(gradient: Gradient<Dispatch>) -> Option<Primitive> {
    match gradient {
        Gradient::Computed(tensor) => Some(tensor),
        Gradient::Skipped => None,
    }
}

/// Outputs whose last one is there.
trait LastThere {
    type With;
    fn some(self) -> Self::With;
}

impl<A, B> LastThere for (A, B) {
    type With = (A, Option<B>);
    fn some(self) -> Self::With {
        (self.0, Some(self.1))
    }
}

impl<A, B, C> LastThere for (A, B, C) {
    type With = (A, B, Option<C>);
    fn some(self) -> Self::With {
        (self.0, self.1, Some(self.2))
    }
}
