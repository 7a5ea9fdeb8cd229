//! A case through the public functions and `backward()`.

use burn::tensor::Tensor;
use fused_norm_testkit::{Case, Want};

use crate::inputs::Inputs;
use crate::operation::forward;
use crate::subject::Results;
use crate::tensors::read;

pub fn evaluate<const D: usize>(case: &Case, want: Want, inputs: Inputs<D>) -> Results {
    let Inputs {
        x,
        second,
        dy,
        dsum,
        gamma,
        beta,
    } = inputs;
    if !want.any() {
        let (y, sum) = forward(case, x, second, gamma, beta);
        return Results::of_forward(read(y), sum.map(read));
    }
    let x = x.set_require_grad(want.x);
    let second = second.map(|second| second.set_require_grad(want.second));
    let gamma = gamma.map(|gamma| gamma.set_require_grad(want.gamma));
    let beta = beta.map(|beta| beta.set_require_grad(want.beta));

    let (y, sum) = forward(case, x.clone(), second.clone(), gamma.clone(), beta.clone());
    let mut loss: Tensor<1> = (y.clone() * dy).sum();
    if let (Some(sum), Some(dsum)) = (&sum, dsum) {
        loss = loss + (sum.clone() * dsum).sum();
    }
    let gradients = loss.backward();
    Results {
        dx: x.grad(&gradients).map(read),
        dsecond: second.and_then(|second| second.grad(&gradients)).map(read),
        dgamma: gamma.and_then(|gamma| gamma.grad(&gradients)),
        dbeta: beta.and_then(|beta| beta.grad(&gradients)),
        ..Results::of_forward(read(y), sum.map(read))
    }
}
