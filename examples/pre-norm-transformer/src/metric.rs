//! The loss in bits per byte, as a metric of Burn's trainer.

use std::f64::consts::LN_2;
use std::sync::Arc;

use burn::tensor::{Tensor, TensorReadError};
use burn::train::metric::state::{FormatOptions, NumericMetricState};
use burn::train::metric::{
    Metric, MetricAttributes, MetricMetadata, MetricName, Numeric, NumericAttributes, NumericEntry,
    SerializedEntry,
};

/// Mean number of bits that the model needs to write down the next byte.
#[derive(Clone, Default)]
pub struct BitsPerByte {
    state: NumericMetricState,
}

/// A loss and the number of bytes it is the mean over.
pub struct BitsPerByteInput {
    pub loss: Tensor<1>,
    pub bytes: usize,
}

impl BitsPerByte {
    /// The name of the metric.
    pub const NAME: &str = "Bits per byte";

    fn format(&self) -> FormatOptions {
        FormatOptions::new(self.name()).precision(3)
    }
}

impl Metric for BitsPerByte {
    type Input = BitsPerByteInput;

    fn name(&self) -> MetricName {
        Arc::new(Self::NAME.to_string())
    }

    fn attributes(&self) -> MetricAttributes {
        MetricAttributes::Numeric(NumericAttributes {
            unit: None,
            higher_is_better: false,
        })
    }

    fn update(
        &mut self,
        input: &Self::Input,
        _metadata: &MetricMetadata,
    ) -> Result<SerializedEntry, TensorReadError> {
        let nats = input.loss.clone().try_into_scalar::<f64>()?;
        self.state.update(nats / LN_2, input.bytes);
        Ok(self.state.compute_update(self.format()))
    }

    fn compute(&mut self) -> Result<SerializedEntry, TensorReadError> {
        Ok(self.state.compute_final(self.format()))
    }

    fn clear(&mut self) {
        self.state.reset();
    }
}

impl Numeric for BitsPerByte {
    fn value(&self) -> Option<NumericEntry> {
        Some(self.state.current_value())
    }

    fn running_value(&self) -> Option<NumericEntry> {
        Some(self.state.running_value())
    }

    fn final_value(&self) -> NumericEntry {
        self.state.final_value()
    }
}
