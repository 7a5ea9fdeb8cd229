//! The norms that a block can be built with, behind one type.

use burn::module::Module;
use burn::nn;
use burn::tensor::{Device, Tensor};
use burn_fused_norm::{RmsNorm, RmsNormConfig};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// Inside the root of every norm, so that the kinds differ in nothing else.
const EPSILON: f64 = 1e-5;

/// Which norm, as `--norm` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum NormKind {
    /// RMSNorm of burn-fused-norm
    Rms,
    /// pRMSNorm of burn-fused-norm: the statistic reads only part of the features
    Prms,
    /// LayerNorm of Burn
    Layer,
    /// RMSNorm of Burn, composed of tensor operations
    BurnRms,
}

impl NormKind {
    /// The name on the command line and of the default run folder.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rms => "rms",
            Self::Prms => "prms",
            Self::Layer => "layer",
            Self::BurnRms => "burn-rms",
        }
    }
}

/// A norm of any kind.
#[derive(Module, Debug)]
pub enum Norm {
    /// RMSNorm or pRMSNorm, fused.
    Fused(RmsNorm),
    /// Burn's LayerNorm.
    Layer(nn::LayerNorm),
    /// Burn's RMSNorm.
    BurnRms(nn::RmsNorm),
}

impl Norm {
    /// Creates a norm over `d_model` features; `partial` is the p of [`NormKind::Prms`].
    pub fn new(kind: NormKind, partial: Option<f64>, d_model: usize, device: &Device) -> Self {
        let fused = RmsNormConfig::new(d_model).with_epsilon(EPSILON);
        match kind {
            NormKind::Rms => Self::Fused(fused.init(device)),
            NormKind::Prms => Self::Fused(fused.with_partial(partial).init(device)),
            NormKind::Layer => Self::Layer(
                nn::LayerNormConfig::new(d_model)
                    .with_epsilon(EPSILON)
                    .init(device),
            ),
            NormKind::BurnRms => Self::BurnRms(
                nn::RmsNormConfig::new(d_model)
                    .with_epsilon(EPSILON)
                    .init(device),
            ),
        }
    }

    /// Normalizes the last axis.
    pub fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        match self {
            Self::Fused(norm) => norm.forward(x),
            Self::Layer(norm) => norm.forward(x),
            Self::BurnRms(norm) => norm.forward(x),
        }
    }
}
