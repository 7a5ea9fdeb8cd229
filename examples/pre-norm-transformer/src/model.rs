//! The language model: bytes in, a distribution over the next byte out.

use burn::module::Module;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::nn::{Dropout, DropoutConfig, Embedding, EmbeddingConfig, Linear};
use burn::tensor::{Device, Int, Tensor};

use crate::block::{Block, BlockConfig, STD, linear, normal};
use crate::data::Batch;
use crate::norm::{Norm, NormKind};
use crate::rotary::Rotary;

/// Every byte is a token.
pub const VOCABULARY: usize = 256;

/// The architecture of a model.
#[derive(Clone, Debug)]
pub struct ModelConfig {
    /// Features of the residual stream.
    pub d_model: usize,
    /// Number of blocks.
    pub layers: usize,
    /// Attention heads of a block; must divide `d_model` into even parts.
    pub heads: usize,
    /// The longest input, in bytes.
    pub context: usize,
    /// Share of the embeddings and of each branch's output that training drops.
    pub dropout: f64,
    /// Which norm stands before each branch and at the end.
    pub norm: NormKind,
    /// The p of pRMSNorm.
    pub partial: Option<f64>,
}

impl ModelConfig {
    /// Creates a model with random weights, drawn from the generator of `device`.
    pub fn init(&self, device: &Device) -> LanguageModel {
        let block = BlockConfig {
            d_model: self.d_model,
            heads: self.heads,
            dropout: self.dropout,
            norm: self.norm,
            partial: self.partial,
            // 2 · layers branches add up in the residual stream.
            residual_std: STD / (2.0 * self.layers as f64).sqrt(),
        };
        LanguageModel {
            embedding: EmbeddingConfig::new(VOCABULARY, self.d_model)
                .with_initializer(normal(STD))
                .init(device),
            rotary: Rotary::new(self.context, self.d_model / self.heads, device),
            blocks: (0..self.layers).map(|_| block.init(device)).collect(),
            norm: Norm::new(self.norm, self.partial, self.d_model, device),
            output: linear(self.d_model, VOCABULARY, STD, device),
            dropout: DropoutConfig::new(self.dropout).init(),
        }
    }
}

/// A byte-level pre-norm Transformer.
#[derive(Module, Debug)]
pub struct LanguageModel {
    embedding: Embedding,
    rotary: Rotary,
    blocks: Vec<Block>,
    norm: Norm,
    output: Linear,
    dropout: Dropout,
}

impl LanguageModel {
    /// Logits of the byte after each position: `[batch, time]` to `[batch, time, VOCABULARY]`.
    pub fn forward(&self, bytes: Tensor<2, Int>) -> Tensor<3> {
        let x = self.dropout.forward(self.embedding.forward(bytes));
        let x = self
            .blocks
            .iter()
            .fold(x, |x, block| block.forward(x, &self.rotary));
        self.output.forward(self.norm.forward(x))
    }

    /// Mean cross-entropy, in nats, over the scored positions of a batch.
    pub fn loss(&self, batch: Batch) -> Tensor<1> {
        let [windows, context] = batch.inputs.dims();
        let scored = context - batch.scored_from;
        let logits = self
            .forward(batch.inputs)
            .narrow(1, batch.scored_from, scored)
            .reshape([windows * scored, VOCABULARY]);
        let targets = batch
            .targets
            .narrow(1, batch.scored_from, scored)
            .reshape([windows * scored]);
        CrossEntropyLossConfig::new()
            .init(&logits.device())
            .forward(logits, targets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tiny(norm: NormKind, device: &Device) -> LanguageModel {
        ModelConfig {
            d_model: 16,
            layers: 2,
            heads: 2,
            context: 12,
            dropout: 0.1,
            norm,
            partial: (norm == NormKind::Prms).then_some(0.5),
        }
        .init(device)
    }

    #[test]
    fn a_byte_leaves_every_earlier_logit_bit_equal() {
        let device = Device::default();
        for norm in [
            NormKind::Rms,
            NormKind::Prms,
            NormKind::Layer,
            NormKind::BurnRms,
        ] {
            let model = tiny(norm, &device);
            let text: Vec<i32> = (0..12).map(|i| 97 + i).collect();
            let bytes = Tensor::<1, Int>::from_data(text.as_slice(), &device).unsqueeze::<2>();
            for t in 0..12 {
                let mut other = text.clone();
                other[t] = 33;
                let other = Tensor::<1, Int>::from_data(other.as_slice(), &device).unsqueeze::<2>();
                let (a, b) = (model.forward(bytes.clone()), model.forward(other));
                let before = |logits: &Tensor<3>| logits.clone().narrow(1, 0, t).into_data();
                if t > 0 {
                    assert_eq!(
                        before(&a),
                        before(&b),
                        "{norm:?}: byte {t} reached the past"
                    );
                }
                let at = |logits: &Tensor<3>| logits.clone().narrow(1, t, 1).into_data();
                assert_ne!(at(&a), at(&b), "{norm:?}: byte {t} was not read");
            }
        }
    }
}
