//! Every configuration to a file and back, in both formats, and what a file does not hold.

use std::path::Path;

use burn::module::{Module, Param};
use burn::store::{ModuleSnapshot, SafetensorsStore};
use burn::tensor::{DType, Device, Tensor};
use burn_fused_norm::{PerHeadRmsNorm, PerHeadRmsNormConfig, RmsNorm, RmsNormConfig, Rounding};
use fused_norm_testkit::patterns::{b, g, p};

use crate::common::{bits, devices, filled, values};

fn configs() -> Vec<RmsNormConfig> {
    let new = || RmsNormConfig::new(6);
    vec![
        new(),
        new().with_epsilon(1e-3).with_partial(Some(0.5)),
        new().with_bias(true),
        new().with_zero_centered(true),
        new().with_rounding(Rounding::BeforeGamma).with_bias(true),
        new().with_groups(3).with_partial(Some(0.5)),
        new().with_axis(1).with_bias(true),
        new().with_affine(false),
    ]
}

/// A layer whose parameters are neither ones nor zeros, of type `dtype`.
fn trained(config: &RmsNormConfig, dtype: DType, device: &Device) -> RmsNorm {
    let mut norm = config.init(device);
    let values = |at: fn(usize) -> f64| Param::from_tensor(filled([6], device, at).cast(dtype));
    norm.gamma = norm.gamma.map(|_| values(g));
    norm.beta = norm.beta.map(|_| values(b));
    norm
}

fn output(norm: &RmsNorm, device: &Device) -> Vec<u64> {
    bits(norm.forward(filled::<3>([2, 6, 6], device, p)))
}

/// The same layer by way of a file, and the one that the file was read into.
fn there_and_back<M: Module + ModuleSnapshot>(saved: &M, fresh: M, file: &Path) -> [M; 2] {
    let pack = file.with_extension("bpk");
    saved.clone().save_file(&pack).unwrap();
    let mut tensors = SafetensorsStore::from_file(file.with_extension("safetensors"));
    saved.save_into(&mut tensors).unwrap();
    let mut loaded = fresh.clone();
    let mut tensors = SafetensorsStore::from_file(file.with_extension("safetensors"));
    let result = loaded.load_from(&mut tensors).unwrap();
    assert!(
        result.missing.is_empty() && result.unused.is_empty(),
        "{result:?}"
    );
    [fresh.try_load_file(&pack).unwrap(), loaded]
}

#[test]
fn every_configuration_in_both_formats() {
    for (name, device) in devices::selected() {
        for (index, config) in configs().iter().enumerate() {
            let dtypes = match index {
                2 => vec![DType::F32, DType::BF16, DType::F16, DType::F64],
                _ => vec![DType::F32],
            };
            for dtype in dtypes
                .into_iter()
                .filter(|dtype| devices::computes(&device, *dtype))
            {
                let folder = tempfile::tempdir().unwrap();
                let saved = trained(config, dtype, &device);
                let file = folder.path().join("norm");
                for loaded in there_and_back(&saved, config.init(&device), &file) {
                    let what = format!("{name} {dtype:?} {loaded}");
                    assert_eq!(loaded.to_string(), saved.to_string(), "{what}");
                    let kinds = |norm: &RmsNorm| {
                        let parameters = [norm.gamma.clone(), norm.beta.clone()];
                        parameters.map(|parameter| parameter.map(|it| it.val().dtype()))
                    };
                    assert_eq!(kinds(&loaded), kinds(&saved), "{what}");
                    assert!(
                        output(&loaded, &device) == output(&saved, &device),
                        "{what}"
                    );
                }
            }
        }
    }
}

#[test]
fn heads_in_both_formats() {
    for (name, device) in devices::selected() {
        for config in [
            PerHeadRmsNormConfig::new(2, 3),
            PerHeadRmsNormConfig::new(2, 3)
                .with_zero_centered(true)
                .with_epsilon(1e-3)
                .with_partial(Some(0.5)),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let mut saved = config.init(&device);
            saved.gamma = Param::from_tensor(filled([2, 3], &device, g));
            let x = || filled::<3>([4, 2, 3], &device, p);
            let file = folder.path().join("heads");
            let loaded: [PerHeadRmsNorm; 2] = there_and_back(&saved, config.init(&device), &file);
            for loaded in loaded {
                assert_eq!(loaded.to_string(), saved.to_string(), "{name}");
                assert!(
                    bits(loaded.forward(x())) == bits(saved.forward(x())),
                    "{name}"
                );
            }
        }
    }
}

/// Zero rows show epsilon: their dx is `dy/√epsilon`.
fn probed_epsilon(norm: &RmsNorm, device: &Device) -> f64 {
    let x = Tensor::<2>::zeros([1, 6], device).require_grad();
    let gradients = norm.forward(x.clone()).sum().backward();
    let slope = values(x.grad(&gradients).unwrap())[0];
    let gamma = norm
        .gamma
        .as_ref()
        .map_or(1.0, |gamma| values(gamma.val())[0]);
    (gamma / slope).powi(2)
}

/// epsilon, partial, the conventions and the axis come from the configuration, whatever the file.
#[test]
fn numbers_are_not_stored() {
    for (name, device) in devices::selected() {
        let device = device.autodiff();
        let there = RmsNormConfig::new(6)
            .with_epsilon(1e-3)
            .with_partial(Some(0.25))
            .with_zero_centered(true)
            .with_rounding(Rounding::BeforeGamma)
            .with_groups(2)
            .with_axis(1);
        let here = RmsNormConfig::new(6)
            .with_epsilon(1e-6)
            .with_partial(Some(0.5));
        let folder = tempfile::tempdir().unwrap();
        let saved = trained(&there, DType::F32, &device);
        for loaded in there_and_back(&saved, here.init(&device), &folder.path().join("norm")) {
            assert_eq!(
                loaded.to_string(),
                "RmsNorm {d_model: 6, epsilon: 0.000001, partial: 0.5, params: 6}",
                "{name}"
            );
            assert_eq!(
                (
                    loaded.zero_centered,
                    loaded.rounding,
                    loaded.groups,
                    loaded.axis
                ),
                (false, Rounding::Once, 1, 0)
            );
            let epsilon = probed_epsilon(&loaded, &device);
            assert!((epsilon / 1e-6 - 1.0).abs() < 1e-4, "{name}: {epsilon:e}");
        }
    }
}

/// The two conventions hold the same numbers and mean different factors.
#[test]
fn gamma_around_zero_and_around_one() {
    for (name, device) in devices::selected() {
        let plain = RmsNormConfig::new(6);
        let centred = plain.clone().with_zero_centered(true);
        for (config, expected) in [(&plain, 1.0), (&centred, 0.0)] {
            let fresh = values(config.init(&device).gamma.unwrap().val());
            assert_eq!(fresh, [expected; 6], "{name}");
        }
        assert!(!plain.init(&device).to_string().contains("zero_centered"));
        assert!(
            centred
                .init(&device)
                .to_string()
                .contains("zero_centered: true")
        );
        let x = || filled::<2>([3, 6], &device, p);
        let unscaled = plain.clone().with_affine(false).init(&device);
        let unscaled = values(unscaled.forward(x()));
        assert!(
            values(centred.init(&device).forward(x())) == unscaled,
            "{name}: as initialised"
        );
        let mut half = plain.init(&device);
        half.gamma = Some(Param::from_tensor(Tensor::full([6], 0.5, &device)));
        let record = half.into_record();
        for (config, factor) in [(plain, 0.5), (centred, 1.5)] {
            let y = values(
                config
                    .init(&device)
                    .load_record(record.clone())
                    .forward(x()),
            );
            for (y, unscaled) in y.iter().zip(&unscaled) {
                assert!(
                    (y - factor * unscaled).abs() <= 2e-7 * y.abs(),
                    "{name} {factor}"
                );
            }
        }
    }
}

#[test]
fn a_file_of_another_layer_is_refused_by_name() {
    let device = Device::flex();
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let save = |config: RmsNormConfig, name: &str| {
        config.init(&device).save_file(file(name)).unwrap();
    };
    save(RmsNormConfig::new(6), "six");
    save(RmsNormConfig::new(6).with_bias(true), "with_beta");
    save(RmsNormConfig::new(6).with_affine(false), "nothing");
    let load = |config: RmsNormConfig, name: &str| {
        let error = config.init(&device).try_load_file(file(name)).unwrap_err();
        error.to_string()
    };
    let text = load(RmsNormConfig::new(4), "six");
    assert!(
        text.contains("gamma") && text.contains('6') && text.contains('4'),
        "{text}"
    );
    let text = load(RmsNormConfig::new(6).with_bias(true), "six");
    assert!(text.contains("Missing") && text.contains("beta"), "{text}");
    let text = load(RmsNormConfig::new(6), "with_beta");
    assert!(text.contains("Unused") && text.contains("beta"), "{text}");
    let text = load(RmsNormConfig::new(6), "nothing");
    assert!(text.contains("Missing") && text.contains("gamma"), "{text}");
    let text = load(RmsNormConfig::new(6), "absent");
    assert!(text.contains("I/O"), "{text}");
}

/// Cut anywhere, a file is an error and never a panic or a layer.
#[test]
fn a_truncated_file_is_refused_at_every_byte() {
    let device = Device::flex();
    let folder = tempfile::tempdir().unwrap();
    let config = RmsNormConfig::new(6).with_bias(true);
    let saved = trained(&config, DType::F32, &device);
    let whole = folder.path().join("norm");
    there_and_back(&saved, config.init(&device), &whole);
    for format in ["bpk", "safetensors"] {
        let bytes = std::fs::read(whole.with_extension(format)).unwrap();
        let part = folder.path().join("part").with_extension(format);
        for len in 0..bytes.len() {
            std::fs::write(&part, &bytes[..len]).unwrap();
            let mut norm = config.init(&device);
            let refused = match format {
                "bpk" => norm.try_load_file(&part).is_err(),
                _ => norm
                    .load_from(&mut SafetensorsStore::from_file(&part))
                    .is_err(),
            };
            assert!(refused, "{format}: {len} of {} bytes", bytes.len());
        }
    }
}
