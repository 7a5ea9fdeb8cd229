//! The language model: bytes in, a distribution over the next byte out.

use burn::module::Module;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::nn::{Dropout, DropoutConfig, Embedding, EmbeddingConfig, Linear};
use burn::tensor::{Device, Int, Tensor};

use crate::block::{Block, BlockConfig, STD, Stream, linear, normal};
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
    /// Add a branch and normalize the sum in one operation, where the norm has one.
    pub fuse_add: bool,
    /// Normalize the heads of queries and keys.
    pub qk_norm: bool,
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
            fuse_add: self.fuse_add,
            qk_norm: self.qk_norm,
            // 2 · layers branches add up in the residual stream.
            residual_std: STD / (2.0 * self.layers as f64).sqrt(),
        };
        LanguageModel {
            embedding: EmbeddingConfig::new(VOCABULARY, self.d_model)
                .with_initializer(normal(STD))
                .init(device),
            rotary: Rotary::new(self.context, self.d_model / self.heads, device),
            blocks: (0..self.layers).map(|_| block.init(device)).collect(),
            norm: block.norm_of(self.d_model, device),
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
        let stream = self.blocks.iter().fold(Stream::new(x), |stream, block| {
            block.forward(stream, &self.rotary)
        });
        let (normed, _) = stream.normed(&self.norm);
        self.output.forward(normed)
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
    use burn::module::{ModuleVisitor, Param};
    use burn::tensor::DType;

    fn tiny(norm: NormKind) -> ModelConfig {
        ModelConfig {
            d_model: 16,
            layers: 2,
            heads: 2,
            context: 12,
            dropout: 0.1,
            norm,
            partial: (norm == NormKind::Prms).then_some(0.5),
            fuse_add: true,
            qk_norm: norm == NormKind::Prms,
        }
    }

    /// Parameters in 16 bits would lose small updates.
    #[test]
    fn every_parameter_is_kept_in_f32() {
        struct Types(Vec<DType>);
        impl ModuleVisitor for Types {
            fn visit_float<const D: usize>(&mut self, parameter: &Param<Tensor<D>>) {
                self.0.push(parameter.val().dtype());
            }
        }
        let mut types = Types(vec![]);
        let model = tiny(NormKind::Prms).init(&Device::default().autodiff());
        model.visit(&mut types);
        assert!(types.0.len() > 10);
        assert!(
            types.0.iter().all(|dtype| *dtype == DType::F32),
            "{:?}",
            types.0
        );
    }

    /// In f32 the sum that is normalized is the sum that is returned, so nothing but time differs.
    #[test]
    fn one_operation_for_sum_and_norm_changes_no_bit() {
        let device = Device::default().autodiff();
        let config = |fuse_add| ModelConfig {
            dropout: 0.0,
            fuse_add,
            ..tiny(NormKind::Rms)
        };
        let weights = config(true).init(&device).into_record();
        let gradient = |fuse_add| {
            let model = config(fuse_add).init(&device).load_record(weights.clone());
            let text: Vec<i32> = (0..12).map(|i| 97 + i).collect();
            let bytes = Tensor::<1, Int>::from_data(text.as_slice(), &device).unsqueeze::<2>();
            let logits = model.forward(bytes);
            let gradients = (logits.clone() * logits.clone()).sum().backward();
            let weight = model.embedding.weight.val();
            (
                logits.into_data(),
                weight.grad(&gradients).unwrap().into_data(),
            )
        };
        assert_eq!(gradient(true), gradient(false));
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
            let model = tiny(norm).init(&device);
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
