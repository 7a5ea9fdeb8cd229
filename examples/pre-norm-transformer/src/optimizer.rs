//! AdamW in two groups: matrices decay, norm parameters and biases do not.

use burn::grad_clipping::GradientClippingConfig;
use burn::module::ParamGroup;
use burn::optim::{AdamWConfig, ModuleOptimizer};

/// Largest norm of a parameter's gradient. Burn clips each parameter by itself.
const MAX_GRADIENT_NORM: f32 = 1.0;

/// Parameters that weight decay would pull away from the identity for no gain.
const UNDECAYED: &str = r"(^|\.)(gamma|beta|bias)$";

/// Creates the optimizer.
pub fn optimizer(weight_decay: f32) -> ModuleOptimizer {
    let adamw = AdamWConfig::new()
        .with_beta_2(0.99)
        .with_epsilon(1e-8)
        .with_weight_decay(weight_decay);
    let undecayed = adamw.clone().with_weight_decay(0.0);
    let clipping = GradientClippingConfig::Norm(MAX_GRADIENT_NORM);
    adamw
        .with_grad_clipping(Some(clipping.clone()))
        .init()
        .with_group(
            ParamGroup::from_regex(UNDECAYED).expect("a valid pattern"),
            undecayed.build(),
            Some(clipping.init()),
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::norm::NormKind;
    use burn::module::{Module, ModuleVisitor, Param};
    use burn::optim::GradientsParams;
    use burn::tensor::{Device, Tensor};

    use crate::model::ModelConfig;

    /// Zero gradients for every parameter of a module, and the parameters' values by path.
    #[derive(Default)]
    struct Parameters {
        path: Vec<String>,
        zeros: GradientsParams,
        values: Vec<(String, Vec<f32>)>,
    }

    impl ModuleVisitor for Parameters {
        fn enter_module(&mut self, name: &str, _: &str) {
            self.path.push(name.into());
        }

        fn exit_module(&mut self, _: &str, _: &str) {
            self.path.pop();
        }

        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let value = param.val().inner();
            self.zeros.register::<D>(param.id, value.zeros_like());
            let values = value
                .try_into_vec_as::<f32>()
                .expect("a readable parameter");
            self.values.push((self.path.join("."), values));
        }
    }

    fn parameters<M: Module>(module: &M) -> Parameters {
        let mut parameters = Parameters::default();
        module.visit(&mut parameters);
        parameters
    }

    #[test]
    fn zero_gradients_leave_gamma_at_one_and_shrink_matrices() {
        let device = Device::default().autodiff();
        for norm in [NormKind::Rms, NormKind::Layer, NormKind::BurnRms] {
            let model = ModelConfig {
                d_model: 8,
                layers: 1,
                heads: 2,
                context: 4,
                dropout: 0.0,
                norm,
                partial: None,
                fuse_add: true,
                qk_norm: true,
            }
            .init(&device);
            let before = parameters(&model);
            let model = optimizer(0.1).step(0.5, model, before.zeros);
            let after = parameters(&model);
            let mut kept = 0;
            for ((path, old), (_, new)) in before.values.iter().zip(&after.values) {
                if path.ends_with("gamma") {
                    kept += 1;
                    assert!(new.iter().all(|gamma| *gamma == 1.0), "{path}");
                } else if path.ends_with("beta") {
                    assert_eq!(old, new, "{path}");
                } else {
                    let shrunk = old
                        .iter()
                        .zip(new)
                        .all(|(o, n)| (n - o * 0.95).abs() < 1e-6);
                    assert!(shrunk, "{path}");
                }
            }
            assert_eq!(kept, 5, "{norm:?}");
        }
    }
}
