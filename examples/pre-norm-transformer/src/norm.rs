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
pub struct Norm {
    layer: Layer,
    fuse_add: bool,
}

#[derive(Module, Debug)]
enum Layer {
    /// RMSNorm or pRMSNorm, fused.
    Fused(RmsNorm),
    /// Burn's LayerNorm.
    LayerNorm(nn::LayerNorm),
    /// Burn's RMSNorm.
    BurnRms(nn::RmsNorm),
}

impl Norm {
    /// Creates a norm over `d_model` features; `partial` is the p of [`NormKind::Prms`].
    pub fn new(kind: NormKind, partial: Option<f64>, d_model: usize, device: &Device) -> Self {
        let fused = RmsNormConfig::new(d_model).with_epsilon(EPSILON);
        let layer = match kind {
            NormKind::Rms => Layer::Fused(fused.init(device)),
            NormKind::Prms => Layer::Fused(fused.with_partial(partial).init(device)),
            NormKind::Layer => Layer::LayerNorm(
                nn::LayerNormConfig::new(d_model)
                    .with_epsilon(EPSILON)
                    .init(device),
            ),
            NormKind::BurnRms => Layer::BurnRms(
                nn::RmsNormConfig::new(d_model)
                    .with_epsilon(EPSILON)
                    .init(device),
            ),
        };
        Self {
            layer,
            fuse_add: true,
        }
    }

    /// Whether [`forward_add`](Self::forward_add) is one operation, where the kind has one.
    pub fn with_fuse_add(mut self, fuse_add: bool) -> Self {
        self.fuse_add = fuse_add;
        self
    }

    /// Normalizes the last axis.
    pub fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        match &self.layer {
            Layer::Fused(norm) => norm.forward(x),
            Layer::LayerNorm(norm) => norm.forward(x),
            Layer::BurnRms(norm) => norm.forward(x),
        }
    }

    /// Adds a branch to the stream, and normalizes it: the normalized stream, and the stream.
    pub fn forward_add<const D: usize>(
        &self,
        branch: Tensor<D>,
        stream: Tensor<D>,
    ) -> (Tensor<D>, Tensor<D>) {
        match &self.layer {
            Layer::Fused(norm) if self.fuse_add => norm.forward_add(branch, stream),
            _ => {
                let stream = branch + stream;
                (self.forward(stream.clone()), stream)
            }
        }
    }
}
