//! A pre-norm Transformer block: `x + attention(norm(x))`, then `x + feed_forward(norm(x))`.
//!
//! The end of a branch and the norm of the next are one operation, so a block does not add its last
//! branch itself: see [`Stream`].

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
    /// Add a branch and normalize the sum in one operation, where the norm has one.
    pub fuse_add: bool,
    /// Normalize the heads of queries and keys.
    pub qk_norm: bool,
    /// Standard deviation of the initial weights that write to the residual stream.
    pub residual_std: f64,
}

impl BlockConfig {
    /// Creates a block with random weights.
    pub fn init(&self, device: &Device) -> Block {
        let norm = || self.norm_of(self.d_model, device);
        Block {
            attention_norm: norm(),
            attention: CausalAttention::new(self, device),
            feed_forward_norm: norm(),
            feed_forward: FeedForward::new(self, device),
            dropout: DropoutConfig::new(self.dropout).init(),
        }
    }

    /// A norm over `features`, of the kind that the block is built with.
    pub fn norm_of(&self, features: usize, device: &Device) -> Norm {
        Norm::new(self.norm, self.partial, features, device).with_fuse_add(self.fuse_add)
    }
}

/// The residual stream, and the output of the last branch, which is still to be added to it: that is
/// left to the norm that reads the sum.
#[derive(Debug)]
pub struct Stream {
    x: Tensor<3>,
    branch: Option<Tensor<3>>,
}

impl Stream {
    /// A stream that no branch has written to.
    pub fn new(x: Tensor<3>) -> Self {
        Self { x, branch: None }
    }

    /// The whole stream.
    pub fn sum(self) -> Tensor<3> {
        match self.branch {
            Some(branch) => branch + self.x,
            None => self.x,
        }
    }

    /// The whole stream normalized, and the whole stream.
    pub fn normed(self, norm: &Norm) -> (Tensor<3>, Tensor<3>) {
        match self.branch {
            Some(branch) => norm.forward_add(branch, self.x),
            None => (norm.forward(self.x.clone()), self.x),
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
    /// Adds two branches to a stream of `[batch, time, d_model]`.
    pub fn forward(&self, stream: Stream, rotary: &Rotary) -> Stream {
        let (normed, x) = stream.normed(&self.attention_norm);
        let branch = self.dropout.forward(self.attention.forward(normed, rotary));
        let stream = Stream {
            x,
            branch: Some(branch),
        };
        let (normed, x) = stream.normed(&self.feed_forward_norm);
        let branch = self.dropout.forward(self.feed_forward.forward(normed));
        Stream {
            x,
            branch: Some(branch),
        }
    }
}

/// Multi-head attention in which a position sees itself and what came before.
#[derive(Module, Debug)]
pub struct CausalAttention {
    query_key_value: Linear,
    query_norm: Option<Norm>,
    key_norm: Option<Norm>,
    output: Linear,
    heads: usize,
}

impl CausalAttention {
    fn new(config: &BlockConfig, device: &Device) -> Self {
        let d = config.d_model;
        let norm = || config.norm_of(d / config.heads, device);
        Self {
            query_key_value: linear(d, 3 * d, STD, device),
            query_norm: config.qk_norm.then(norm),
            key_norm: config.qk_norm.then(norm),
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
        let split = |x: Tensor<3>, norm: &Option<Norm>| {
            let heads = x.reshape([batch, time, self.heads, d_model / self.heads]);
            let heads = match norm {
                Some(norm) => norm.forward(heads),
                None => heads,
            };
            heads.swap_dims(1, 2)
        };
        let attended = attention(
            rotary.forward(split(query, &self.query_norm)),
            rotary.forward(split(key, &self.key_norm)),
            split(value, &None),
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
