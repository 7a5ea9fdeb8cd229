//! The `generate` command: text from a trained model.

use std::io::{Write, stdout};

use burn::tensor::{Device, Int, Tensor, TensorData};
use rand::SeedableRng;
use rand::distr::Distribution;
use rand::distr::weighted::WeightedIndex;
use rand::rngs::StdRng;

use crate::cli::GenerateArgs;
use crate::device;
use crate::error::Error;
use crate::model::LanguageModel;
use crate::run_folder::RunFolder;

/// Prints the prompt and what the model of a run makes of it.
pub fn run(args: &GenerateArgs) -> Result<(), Error> {
    let folder = RunFolder::new(args.run.clone());
    let option = format!("--run {}", args.run.display());
    let (config, epoch) = folder.existing_run(&option)?;
    if args.prompt.is_empty() {
        return Err(Error::option(
            "prompt",
            "\"\"",
            "must have at least one byte",
        ));
    }
    let device = device::open(args.device)?;
    let model = config.model().init(&device);
    let model = folder.checkpoints().load_model(model, epoch)?;
    let choice = Choice {
        temperature: args.temperature,
        seed: args.seed,
    };
    let prompt = args.prompt.as_bytes();
    let text = choice.continue_text(&model, config.context, prompt, args.tokens, &device);
    let text = String::from_utf8_lossy(&text);
    writeln!(stdout(), "{}", text.trim_start_matches('\n')).map_err(|source| Error::File {
        action: "write",
        path: "standard output".into(),
        source,
    })
}

/// How the next byte is chosen from the model's distribution.
pub struct Choice {
    /// 0 takes the likeliest byte, 1 follows the model.
    pub temperature: f64,
    pub seed: u64,
}

impl Choice {
    /// The prompt and `bytes` bytes after it. The model sees the last `context` bytes at a time.
    pub fn continue_text(
        &self,
        model: &LanguageModel,
        context: usize,
        prompt: &[u8],
        bytes: usize,
        device: &Device,
    ) -> Vec<u8> {
        let mut random = StdRng::seed_from_u64(self.seed);
        let mut text = prompt.to_vec();
        for _ in 0..bytes {
            let seen = &text[text.len().saturating_sub(context)..];
            let last = seen.len() - 1;
            // The bytes after `last` change nothing there, and windows of one length share the
            // kernels that a device compiles.
            let mut window = vec![0; context];
            for (slot, byte) in window.iter_mut().zip(seen) {
                *slot = i32::from(*byte);
            }
            let input = Tensor::<2, Int>::from_data(TensorData::new(window, [1, context]), device);
            let logits = model.forward(input).narrow(1, last, 1);
            text.push(
                self.choose(
                    &logits
                        .into_data_as::<f32>()
                        .iter::<f32>()
                        .collect::<Vec<_>>(),
                    &mut random,
                ),
            );
        }
        text
    }

    fn choose(&self, logits: &[f32], random: &mut StdRng) -> u8 {
        let likeliest = (0..logits.len())
            .max_by(|a, b| logits[*a].total_cmp(&logits[*b]))
            .unwrap_or_default();
        let weight = |logit: &f32| (f64::from(logit - logits[likeliest]) / self.temperature).exp();
        // At temperature 0 the weight of the likeliest is 0 / 0, which no distribution accepts.
        let byte = WeightedIndex::new(logits.iter().map(weight))
            .map_or(likeliest, |weights| weights.sample(random));
        byte as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(temperature: f64, logits: &[f32]) -> Vec<u8> {
        let choice = Choice {
            temperature,
            seed: 1,
        };
        let mut random = StdRng::seed_from_u64(choice.seed);
        (0..100)
            .map(|_| choice.choose(logits, &mut random))
            .collect()
    }

    #[test]
    fn temperature_zero_takes_the_likeliest_byte() {
        assert!(chosen(0.0, &[0.0, 2.0, 1.9]).iter().all(|byte| *byte == 1));
    }

    #[test]
    fn temperature_one_follows_the_distribution() {
        let bytes = chosen(1.0, &[0.0, 0.0, f32::NEG_INFINITY]);
        let ones = bytes.iter().filter(|byte| **byte == 1).count();
        assert!((30..70).contains(&ones) && !bytes.contains(&2));
    }
}
