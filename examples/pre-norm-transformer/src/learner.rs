//! What Burn's trainer asks of the model: a training step, a validation step, and their outputs.

use burn::tensor::{ExecutionError, Tensor};
use burn::train::metric::Adaptor;
use burn::train::{InferenceStep, ItemLazy, TrainOutput, TrainStep};

use crate::data::Batch;
use crate::metric::BitsPerByteInput;
use crate::model::LanguageModel;

/// The loss of a batch.
pub struct StepOutput {
    /// Mean cross-entropy in nats.
    loss: Tensor<1>,
    /// The number of bytes that the mean is over.
    bytes: usize,
}

impl TrainStep for LanguageModel {
    type Input = Batch;
    type Output = StepOutput;

    fn step(&self, batch: Batch) -> TrainOutput<StepOutput> {
        // Dropout draws from the generator of the device: seeded here, a step is repeatable.
        batch.inputs.device().seed(batch.seed);
        let bytes = batch.scored();
        let loss = self.loss(batch);
        let gradients = loss.backward();
        TrainOutput::new(self, gradients, StepOutput { loss, bytes })
    }
}

impl InferenceStep for LanguageModel {
    type Input = Batch;
    type Output = StepOutput;

    fn step(&self, batch: Batch) -> StepOutput {
        let bytes = batch.scored();
        StepOutput {
            loss: self.loss(batch),
            bytes,
        }
    }
}

impl ItemLazy for StepOutput {
    fn sync(self) -> Result<Self, ExecutionError> {
        self.loss.device().flush()?;
        Ok(Self {
            loss: self.loss.without_autodiff(),
            bytes: self.bytes,
        })
    }
}

impl Adaptor<BitsPerByteInput> for StepOutput {
    fn adapt(&self) -> BitsPerByteInput {
        BitsPerByteInput {
            loss: self.loss.clone(),
            bytes: self.bytes,
        }
    }
}
