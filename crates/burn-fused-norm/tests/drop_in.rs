//! A model written for `burn::nn::RmsNorm` where only the import changes, and files that hold the
//! weights of either.

mod common;

use burn::module::Module;
use burn::nn;
use burn::nn::{Linear, LinearConfig};
use burn::prelude::*;
use burn::store::{ModuleRecord, PyTorchToBurnAdapter};
use burn::store::{ModuleSnapshot, SafetensorsStore};
use burn_fused_norm::RmsNormConfig;

/// The same model with the norm that `$import` brings in.
macro_rules! model {
    ($name:ident, $import:path) => {
        mod $name {
            use super::*;
            use $import::{RmsNorm, RmsNormConfig};

            #[derive(Module, Debug)]
            pub struct Model {
                pub linear: Linear,
                pub norm: RmsNorm,
            }

            impl Model {
                pub fn new(device: &Device) -> Self {
                    Self {
                        linear: LinearConfig::new(6, 8).init(device),
                        norm: RmsNormConfig::new(8).with_epsilon(1e-6).init(device),
                    }
                }

                pub fn forward(&self, x: Tensor<3>) -> Tensor<3> {
                    self.norm.forward(self.linear.forward(x))
                }
            }
        }
    };
}

model!(burns, burn::nn);
model!(ours, burn_fused_norm);

fn input(device: &Device) -> Tensor<3> {
    let values = (0..60).map(|i| ((37 * i + 11) % 101) as f32 / 32.0 - 1.5);
    let data = TensorData::new(values.collect::<Vec<_>>(), [2, 5, 6]);
    Tensor::from_data(data, device)
}

fn assert_close(ours: Tensor<3>, burns: Tensor<3>) {
    let (ours, burns): (Vec<f32>, Vec<f32>) = (
        ours.into_data().try_to_vec().unwrap(),
        burns.into_data().try_to_vec().unwrap(),
    );
    for (ours, burns) in ours.iter().zip(burns) {
        assert!(
            (ours - burns).abs() <= 1e-6 * burns.abs(),
            "{ours} and {burns}"
        );
    }
}

#[test]
fn only_the_import_changes() {
    for device in common::cpu_devices() {
        let burns = burns::Model::new(&device);
        let ours = ours::Model::new(&device).load_record(burns.clone().into_record());
        assert_close(ours.forward(input(&device)), burns.forward(input(&device)));
    }
}

#[test]
fn records_load_into_the_other_in_memory_and_from_files() {
    let device = Device::flex();
    let model = ours::Model::new(&device);
    let expected = model.forward(input(&device));
    let record: ModuleRecord = model.clone().into_record();
    let other = burns::Model::new(&device).load_record(record);
    assert_close(expected.clone(), other.forward(input(&device)));

    let folder = tempfile::tempdir().unwrap();
    for file in ["ours", "burns"] {
        let file = folder.path().join(file);
        if file.ends_with("ours") {
            model.clone().save_file(&file).unwrap();
        } else {
            other.clone().save_file(&file).unwrap();
        }
        let into_ours = ours::Model::new(&device).load_file(&file);
        let into_burns = burns::Model::new(&device).load_file(&file);
        assert_close(into_ours.forward(input(&device)), expected.clone());
        assert_close(expected.clone(), into_burns.forward(input(&device)));
    }
}

/// A safetensors file with a linear layer as it is stored, and gamma under `name`.
fn safetensors(name: &str, gamma: [f32; 4]) -> Vec<u8> {
    let header = format!(r#"{{"{name}":{{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}}}"#);
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(gamma.iter().flat_map(|value| value.to_le_bytes()));
    bytes
}

#[derive(Module, Debug)]
struct Head {
    norm: burn_fused_norm::RmsNorm,
}

#[test]
fn safetensors_load_under_pytorchs_name_and_under_ours() {
    let device = Device::flex();
    let gamma = [2.0, 3.0, 4.0, 5.0];
    for name in ["norm.weight", "norm.gamma"] {
        let mut head = Head {
            norm: RmsNormConfig::new(4).init(&device),
        };
        let mut store = SafetensorsStore::from_bytes(Some(safetensors(name, gamma)))
            .with_from_adapter(PyTorchToBurnAdapter);
        let result = head.load_from(&mut store).unwrap();
        assert!(result.missing.is_empty(), "{name}: {result:?}");
        let loaded = head.norm.gamma.as_ref().unwrap().val().into_data();
        assert_eq!(loaded.try_to_vec::<f32>().unwrap(), gamma, "{name}");
    }
}

/// A saved configuration of Burn's layer, alone or inside that of a model.
#[test]
fn burns_configuration_loads() {
    let saved = br#"{"d_model":512,"epsilon":1e-5}"#;
    let loaded = RmsNormConfig::load_binary(saved).unwrap();
    assert_eq!(loaded, RmsNormConfig::new(512));

    let burns = nn::RmsNormConfig::new(8).with_epsilon(1e-12);
    let expected = RmsNormConfig::new(8).with_epsilon(1e-12);
    let text = burns.to_string();
    assert_eq!(
        RmsNormConfig::load_binary(text.as_bytes()).unwrap(),
        expected
    );
    assert_eq!(RmsNormConfig::from(burns), expected);

    let back = nn::RmsNormConfig::load_binary(expected.to_string().as_bytes()).unwrap();
    assert_eq!((back.d_model, back.epsilon), (8, 1e-12));
}
