//! A pre-norm Transformer block: `x + attention(norm(x))`, then `x + feed_forward(norm(x))`.

use burn::module::{Initializer, Module};
use burn::nn::{Dropout, DropoutConfig, Linear, LinearConfig, SwiGlu, SwiGluConfig};
use burn::tensor::module::attention;
use burn::tensor::ops::AttentionModuleOptions;
use burn::tensor::{Device, Tensor};

use crate::norm::{Norm, NormKind};
use crate::rotary::Rotary;

/// Standard deviation of the initial weights, but of those that write to the residual stream.
pub const STD: f64 = 0.02;

/// The sizes of a block.
#[derive(Clone, Debug)]
pub struct BlockConfig {
    /// Features of the residual stream.
    pub d_model: usize,
    /// Attention heads; must divide `d_model`.
    pub heads: usize,
    /// Share of each branch's output that training drops.
    pub dropout: f64,
    /// Which norm stands before each branch.
    pub norm: NormKind,
    /// The p of pRMSNorm.
    pub partial: Option<f64>,
    /// Standard deviation of the initial weights that write to the residual stream.
    pub residual_std: f64,
}

impl BlockConfig {
    /// Creates a block with random weights.
    pub fn init(&self, device: &Device) -> Block {
        let norm = || Norm::new(self.norm, self.partial, self.d_model, device);
        Block {
            attention_norm: norm(),
            attention: CausalAttention::new(self, device),
            feed_forward_norm: norm(),
            feed_forward: FeedForward::new(self, device),
            dropout: DropoutConfig::new(self.dropout).init(),
        }
    }
}

/// A pre-norm block. The residual stream itself is never normalized.
#[derive(Module, Debug)]
pub struct Block {
    attention_norm: Norm,
    attention: CausalAttention,
    feed_forward_norm: Norm,
    feed_forward: FeedForward,
    dropout: Dropout,
}

impl Block {
    /// Maps `[batch, time, d_model]` to the same shape.
    pub fn forward(&self, x: Tensor<3>, rotary: &Rotary) -> Tensor<3> {
        let branch = self
            .attention
            .forward(self.attention_norm.forward(x.clone()), rotary);
        let x = x + self.dropout.forward(branch);
        let branch = self
            .feed_forward
            .forward(self.feed_forward_norm.forward(x.clone()));
        x + self.dropout.forward(branch)
    }
}

/// Multi-head attention in which a position sees itself and what came before.
#[derive(Module, Debug)]
pub struct CausalAttention {
    query_key_value: Linear,
    output: Linear,
    heads: usize,
}

impl CausalAttention {
    fn new(config: &BlockConfig, device: &Device) -> Self {
        let d = config.d_model;
        Self {
            query_key_value: linear(d, 3 * d, STD, device),
            output: linear(d, d, config.residual_std, device),
            heads: config.heads,
        }
    }

    fn forward(&self, x: Tensor<3>, rotary: &Rotary) -> Tensor<3> {
        let [batch, time, d_model] = x.dims();
        let [query, key, value] = self
            .query_key_value
            .forward(x)
            .chunk(3, 2)
            .try_into()
            .expect("three chunks");
        let split = |x: Tensor<3>| {
            x.reshape([batch, time, self.heads, d_model / self.heads])
                .swap_dims(1, 2)
        };
        let attended = attention(
            rotary.forward(split(query)),
            rotary.forward(split(key)),
            split(value),
            None,
            None,
            AttentionModuleOptions {
                is_causal: true,
                ..Default::default()
            },
        );
        let merged = attended.swap_dims(1, 2).reshape([batch, time, d_model]);
        self.output.forward(merged)
    }
}

/// SwiGLU: a gated hidden layer, then a projection back.
#[derive(Module, Debug)]
pub struct FeedForward {
    gate: SwiGlu,
    output: Linear,
}

impl FeedForward {
    fn new(config: &BlockConfig, device: &Device) -> Self {
        // Three matrices of 8/3 d_model columns weigh as much as the usual two of 4 d_model.
        let hidden = (8 * config.d_model).div_ceil(3).next_multiple_of(16);
        Self {
            gate: SwiGluConfig::new(config.d_model, hidden)
                .with_initializer(normal(STD))
                .init(device),
            output: linear(hidden, config.d_model, config.residual_std, device),
        }
    }

    fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        self.output.forward(self.gate.forward(x))
    }
}

/// A matrix without bias.
pub fn linear(d_input: usize, d_output: usize, std: f64, device: &Device) -> Linear {
    LinearConfig::new(d_input, d_output)
        .with_bias(false)
        .with_initializer(normal(std))
        .init(device)
}

/// Normally distributed initial weights.
pub fn normal(std: f64) -> Initializer {
    Initializer::Normal { mean: 0.0, std }
}
