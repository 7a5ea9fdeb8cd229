//! Freezing, validation, moves between devices: what a module keeps of its training state.

use burn::module::Module;
use burn::optim::{GradientsParams, SgdConfig};
use burn::tensor::{Device, Tensor};
use burn_fused_norm::{RmsNorm, RmsNormConfig};
use fused_norm_testkit::patterns::p;

use crate::common::{bits, devices, filled, values};

fn norm(device: &Device) -> RmsNorm {
    let config = RmsNormConfig::new(8)
        .with_bias(true)
        .with_partial(Some(0.5));
    config.init(device)
}

/// Which of gamma and beta get a gradient, and that x does.
fn tracked(norm: &RmsNorm, device: &Device) -> [bool; 2] {
    let x = filled::<2>([3, 8], device, p).require_grad();
    let gradients = norm.forward(x.clone()).sum().backward();
    assert!(x.grad(&gradients).is_some());
    [&norm.gamma, &norm.beta].map(|parameter| {
        let parameter = parameter.as_ref().unwrap().val();
        let gradient = parameter.grad(&gradients);
        if let Some(gradient) = &gradient {
            assert!(values(gradient.clone()).iter().any(|value| *value != 0.0));
        }
        gradient.is_some()
    })
}

fn without_gamma(mut norm: RmsNorm) -> RmsNorm {
    norm.gamma = norm.gamma.map(|gamma| gamma.set_require_grad(false));
    norm
}

#[test]
fn validation_and_back_five_times() {
    for (name, device) in devices::selected() {
        let device = device.autodiff();
        let x = filled::<2>([3, 8], &device, p);
        let mut whole = norm(&device);
        let mut part = without_gamma(norm(&device));
        let expected = bits(whole.forward(x.clone()));
        for _ in 0..5 {
            assert_eq!(tracked(&whole, &device), [true, true], "{name}");
            assert_eq!(tracked(&part, &device), [false, true], "{name}");
            let valid = whole.valid();
            let y: Tensor<2> = valid.forward(x.clone().inner());
            assert!(!y.is_autodiff(), "{name}");
            assert!(bits(y) == expected, "{name}");
            whole = valid.train();
            part = part.valid().train();
            assert!(bits(whole.forward(x.clone())) == expected, "{name}");
        }
    }
}

#[test]
fn a_move_keeps_what_is_trained() {
    let devices = devices::selected();
    for (name, from) in &devices {
        for (other, to) in &devices {
            let (from, to) = (from.clone().autodiff(), to.clone().autodiff());
            let whole = norm(&from).fork(&to);
            assert_eq!(tracked(&whole, &to), [true, true], "{name} to {other}");
            let part = without_gamma(norm(&from)).fork(&to);
            assert_eq!(tracked(&part, &to), [false, true], "{name} to {other}");
            let back = part.fork(&from);
            assert_eq!(
                tracked(&back, &from),
                [false, true],
                "{name}, {other} and back"
            );
        }
    }
}

#[test]
fn nothing_tracked_gives_an_untracked_output() {
    for (name, device) in devices::selected() {
        let device = device.autodiff();
        let frozen = norm(&device).no_grad();
        let y = frozen.forward(filled::<2>([3, 8], &device, p));
        assert!(!y.is_tracked(), "{name}");
    }
}

/// Loading does not thaw, nor freeze.
#[test]
fn a_record_does_not_change_what_is_trained() {
    for (name, device) in devices::selected() {
        let device = device.autodiff();
        let record = norm(&device).into_record();
        let part = without_gamma(norm(&device)).load_record(record);
        assert_eq!(tracked(&part, &device), [false, true], "{name}");
        let whole = norm(&device).load_record(part.into_record());
        assert_eq!(tracked(&whole, &device), [true, true], "{name}");
    }
}

#[test]
fn a_step_moves_gamma_by_what_the_formula_says() {
    for (name, device) in devices::selected() {
        let device = device.autodiff();
        let norm = RmsNormConfig::new(4).with_epsilon(1e-6).init(&device);
        let x = filled::<2>([1, 4], &device, |i| (i + 1) as f64);
        let gradients = norm.forward(x).sum().backward();
        let gradients = GradientsParams::from_grads(gradients, &norm);
        let stepped = SgdConfig::new().init().step(0.1, norm, gradients);
        let gamma = values(stepped.gamma.unwrap().val().inner());
        for (gamma, normed) in gamma
            .iter()
            .zip([0.3651483, 0.7302967, 1.095445, 1.4605934])
        {
            assert!(
                (gamma - (1.0 - 0.1 * normed)).abs() < 1e-6,
                "{name}: {gamma}"
            );
        }
    }
}
