//! The module as a user of Burn meets it: configuration, display, records, training switches.

mod common;

use burn::module::{Module, Param};
use burn::nn;
use burn::prelude::*;
use burn_fused_norm::{PerHeadRmsNormConfig, RmsNorm, RmsNormConfig, Rounding};
use common::values;

fn row() -> Tensor<2> {
    Tensor::from_floats([[1.0, 2.0, 3.0, 4.0]], &Device::flex())
}

#[test]
fn defaults_are_those_of_the_documentation() {
    let config = RmsNormConfig::new(6);
    assert_eq!(config.epsilon, 1e-5);
    assert_eq!(config.partial, None);
    assert!(config.affine);
    assert!(!config.bias);
    assert_eq!(RmsNormConfig::RECOMMENDED_PARTIAL, 0.0625);
}

#[test]
fn display_shows_what_was_configured() {
    let device = Device::flex();
    let config = RmsNormConfig::new(6);
    let shown = |config: &RmsNormConfig| config.init(&device).to_string();
    assert_eq!(
        shown(&config),
        "RmsNorm {d_model: 6, epsilon: 0.00001, params: 6}"
    );
    let partial = config.clone().with_partial(Some(0.5)).with_bias(true);
    assert_eq!(
        shown(&partial),
        "RmsNorm {d_model: 6, epsilon: 0.00001, partial: 0.5, params: 12}"
    );
    let plain = config.with_affine(false);
    assert_eq!(shown(&plain), "RmsNorm {d_model: 6, epsilon: 0.00001}");
}

#[test]
fn a_fresh_module_scales_by_exactly_one_and_shifts_by_zero() {
    for device in common::cpu_devices() {
        let norm = RmsNormConfig::new(5).with_bias(true).init(&device);
        assert_eq!(values(norm.gamma.unwrap().val()), [1.0; 5]);
        assert_eq!(values(norm.beta.unwrap().val()), [0.0; 5]);
    }
}

#[test]
fn config_survives_json_exactly() {
    for (epsilon, partial) in [(1e-3, None), (1e-12, Some(0.0625)), (1e-5, Some(1.0))] {
        let config = RmsNormConfig::new(8)
            .with_epsilon(epsilon)
            .with_partial(partial);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.json");
        config.save(&file).unwrap();
        let loaded = RmsNormConfig::load(&file).unwrap();
        assert_eq!(loaded.epsilon.to_bits(), epsilon.to_bits());
        assert_eq!(loaded.partial, partial);
    }
}

/// Options that a file does not name have their defaults: a file of a version that had fewer.
#[test]
fn a_configuration_with_fewer_options_loads() {
    let load = |text: &str| RmsNormConfig::load_binary(text.as_bytes());
    let config = RmsNormConfig::new(8);
    assert_eq!(load(r#"{"d_model":8}"#).unwrap(), config);
    for (text, expected) in [
        (r#""epsilon":1e-3"#, config.clone().with_epsilon(1e-3)),
        (r#""partial":0.5"#, config.clone().with_partial(Some(0.5))),
        (r#""affine":false"#, config.clone().with_affine(false)),
        (r#""bias":true"#, config.clone().with_bias(true)),
        (
            r#""zero_centered":true"#,
            config.clone().with_zero_centered(true),
        ),
        (
            r#""rounding":"BeforeGamma""#,
            config.clone().with_rounding(Rounding::BeforeGamma),
        ),
        (r#""groups":2"#, config.clone().with_groups(2)),
        (r#""axis":1"#, config.clone().with_axis(1)),
    ] {
        assert_eq!(
            load(&format!(r#"{{"d_model":8,{text}}}"#)).unwrap(),
            expected
        );
        assert_eq!(load(&expected.to_string()).unwrap(), expected);
    }
    let text = load(r#"{"epsilon":1e-5}"#).unwrap_err().to_string();
    assert!(text.contains("missing field `d_model`"), "{text}");

    let load = |text: &str| PerHeadRmsNormConfig::load_binary(text.as_bytes());
    let config = PerHeadRmsNormConfig::new(2, 4);
    assert_eq!(load(r#"{"heads":2,"head_dim":4}"#).unwrap(), config);
    let all = config
        .with_epsilon(1e-6)
        .with_partial(Some(0.25))
        .with_zero_centered(true)
        .with_rounding(Rounding::BeforeGamma);
    assert_eq!(load(&all.to_string()).unwrap(), all);
    let text = load(r#"{"heads":2}"#).unwrap_err().to_string();
    assert!(text.contains("missing field `head_dim`"), "{text}");
}

#[test]
fn a_record_keeps_parameters_and_the_layer_keeps_its_numbers() {
    let device = Device::flex();
    let mut saved = RmsNormConfig::new(4)
        .with_epsilon(1e-3)
        .with_partial(Some(0.25))
        .init(&device);
    saved.gamma = Some(Param::from_tensor(Tensor::from_floats(
        [2.0, 3.0, 4.0, 5.0],
        &device,
    )));
    let loaded = RmsNormConfig::new(4)
        .with_epsilon(1e-6)
        .with_partial(Some(0.5))
        .init(&device);
    let loaded = loaded.load_record(saved.into_record());
    assert_eq!(
        values(loaded.gamma.clone().unwrap().val()),
        [2.0, 3.0, 4.0, 5.0]
    );
    assert_eq!(loaded.epsilon, 1e-6);
    assert_eq!(loaded.partial, Some(0.5));
}

#[test]
fn every_affine_form_survives_a_file() {
    let device = Device::flex();
    let config = RmsNormConfig::new(4);
    for config in [
        config.clone(),
        config.clone().with_bias(true),
        config.with_affine(false),
    ] {
        let norm = config.init(&device);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("norm");
        let expected = values(norm.forward(row()));
        norm.save_file(&file).unwrap();
        let loaded = config.init(&device).load_file(&file);
        assert_eq!(values(loaded.forward(row())), expected);
    }
}

#[test]
fn burns_layer_converts_with_its_gamma_identity_and_epsilon() {
    let device = Device::flex();
    let mut burns = nn::RmsNormConfig::new(4).with_epsilon(1e-3).init(&device);
    burns.gamma = Param::from_tensor(Tensor::from_floats([2.0, 3.0, 4.0, 5.0], &device));
    let (id, expected) = (burns.gamma.id, values(burns.forward(row())));
    let ours = RmsNorm::from(burns);
    assert_eq!(ours.gamma.as_ref().unwrap().id, id);
    assert_eq!((ours.d_model, ours.epsilon, ours.partial), (4, 1e-3, None));
    for (ours, burns) in values(ours.forward(row())).into_iter().zip(expected) {
        assert!(
            (ours - burns).abs() <= 1e-6 * burns.abs(),
            "{ours} and {burns}"
        );
    }
}

#[test]
fn validation_gives_the_same_bits_and_training_resumes() {
    let device = Device::flex().autodiff();
    let norm = RmsNormConfig::new(4).with_partial(Some(0.5)).init(&device);
    let x = Tensor::<2>::from_floats([[1.0, 2.0, 3.0, 4.0]], &device);
    let trained = values(norm.forward(x.clone()).inner());
    let valid = norm.valid();
    assert_eq!(values(valid.forward(x.clone().inner())), trained);

    let again = valid.train();
    let gradients = again.forward(x).sum().backward();
    let gamma = again.gamma.as_ref().unwrap().val();
    assert!(gamma.grad(&gradients).is_some(), "gamma is tracked again");
}

#[test]
fn a_frozen_gamma_gets_no_gradient_and_x_still_does() {
    let device = Device::flex().autodiff();
    let norm = RmsNormConfig::new(4).init(&device).no_grad();
    let x = Tensor::<2>::from_floats([[1.0, 2.0, 3.0, 4.0]], &device).require_grad();
    let gradients = norm.forward(x.clone()).sum().backward();
    assert!(x.grad(&gradients).is_some());
    assert!(norm.gamma.unwrap().val().grad(&gradients).is_none());
}

#[test]
fn without_parameters_there_is_nothing_to_train() {
    let norm = RmsNormConfig::new(4)
        .with_affine(false)
        .with_epsilon(1e-6)
        .init(&Device::flex());
    assert_eq!(norm.num_params(), 0);
    let y = values(norm.forward(row()));
    for (y, expected) in y.iter().zip([0.3651483, 0.7302967, 1.095445, 1.4605934]) {
        assert!((y - expected).abs() < 1e-6);
    }
}

#[test]
fn a_tensor_may_be_x_and_gamma_at_once() {
    use burn_fused_norm::{RmsNormOptions, rms_norm};
    for checkpointing in [false, true] {
        let mut device = Device::flex().autodiff();
        if checkpointing {
            device = device.gradient_checkpointing();
        }
        let x = Tensor::<1>::from_floats([1.0, 2.0, 3.0], &device).require_grad();
        let options = RmsNormOptions::new(1e-5);
        let y = rms_norm(x.clone(), Some(x.clone()), Some(x.clone()), options);
        let both = values(x.grad(&y.sum().backward()).unwrap());

        let parts: Vec<_> = (0..3)
            .map(|_| Tensor::<1>::from_floats([1.0, 2.0, 3.0], &device).require_grad())
            .collect();
        let [a, b, c] = &parts[..] else {
            unreachable!()
        };
        let y = rms_norm(a.clone(), Some(b.clone()), Some(c.clone()), options);
        let gradients = y.sum().backward();
        let sum = parts.iter().map(|part| part.grad(&gradients).unwrap());
        let sum = values(sum.reduce(|a, b| a + b).unwrap());
        for (both, sum) in both.iter().zip(sum) {
            assert!((both - sum).abs() < 1e-6, "{both} and {sum}");
        }
    }
}
