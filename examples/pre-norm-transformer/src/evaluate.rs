//! The figure that a run ends with.

use std::f64::consts::LN_2;

use crate::data::ValidLoader;
use crate::model::LanguageModel;

/// Mean bits that a model, not in training, needs for each byte that the loader scores.
pub fn bits_per_byte(model: &LanguageModel, loader: &ValidLoader) -> f64 {
    let (mut nats, mut bytes) = (0.0, 0);
    for batch in loader.batches() {
        let scored = batch.scored();
        nats += model.loss(batch).into_scalar::<f64>() * scored as f64;
        bytes += scored;
    }
    nats / LN_2 / bytes as f64
}
