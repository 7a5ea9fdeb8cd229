//! The yardstick: a model that sees one byte and predicts the next from counts.
//!
//! `P(b | a) = (count(a b) + k · P(b)) / (count(a) + k)`: the counts of a pair, backed by `k`
//! imaginary ones that follow the single bytes, themselves backed by the uniform distribution.

use std::ops::RangeInclusive;

const BYTES: usize = 256;

/// The strengths of smoothing that the fit chooses among: powers of two.
const STRENGTH_POWERS: RangeInclusive<i32> = -1..=14;

/// Counts of pairs, the probabilities of single bytes, and how much to smooth with them.
pub struct Bigram {
    singles: Vec<f64>,
    pairs: Vec<f64>,
    /// Sums of the rows of `pairs`.
    totals: Vec<f64>,
    strength: f64,
}

impl Bigram {
    /// Fits a model to `text`, with the smoothing that suits its last tenth best when the counts
    /// come from the rest.
    pub fn fit(text: &[u8]) -> Self {
        let (counted, held_out) = text.split_at(text.len() - text.len() / 10);
        let bits = |strength: &f64| {
            Self::count(counted, *strength).bits_per_byte(counted.last().copied(), held_out)
        };
        let strength = STRENGTH_POWERS
            .map(|power| 2_f64.powi(power))
            .min_by(|a, b| bits(a).total_cmp(&bits(b)))
            .expect("at least one strength");
        Self::count(text, strength)
    }

    fn count(text: &[u8], strength: f64) -> Self {
        let mut singles = vec![1.0 / BYTES as f64; BYTES];
        for byte in text {
            singles[usize::from(*byte)] += 1.0;
        }
        for single in &mut singles {
            *single /= text.len() as f64 + 1.0;
        }
        let mut pairs = vec![0.0; BYTES * BYTES];
        for pair in text.windows(2) {
            pairs[usize::from(pair[0]) * BYTES + usize::from(pair[1])] += 1.0;
        }
        Self {
            singles,
            totals: pairs.chunks(BYTES).map(|row| row.iter().sum()).collect(),
            pairs,
            strength,
        }
    }

    /// The probability of a byte after `previous`.
    pub fn probability(&self, previous: Option<u8>, byte: u8) -> f64 {
        let single = self.singles[usize::from(byte)];
        let Some(previous) = previous.map(usize::from) else {
            return single;
        };
        let pair = self.pairs[previous * BYTES + usize::from(byte)];
        (pair + self.strength * single) / (self.totals[previous] + self.strength)
    }

    /// Mean bits of the bytes of `text`, which stands after `previous`.
    pub fn bits_per_byte(&self, mut previous: Option<u8>, text: &[u8]) -> f64 {
        let mut bits = 0.0;
        for byte in text {
            bits -= self.probability(previous, *byte).log2();
            previous = Some(*byte);
        }
        bits / text.len().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_sum_to_one() {
        let model = Bigram::fit(b"the cat sat on the mat, and the rat ran");
        for previous in [None, Some(b't'), Some(0xff)] {
            let sum: f64 = (0..=255)
                .map(|byte| model.probability(previous, byte))
                .sum();
            assert!((sum - 1.0).abs() < 1e-12, "after {previous:?}: {sum}");
        }
    }

    #[test]
    fn a_cycle_costs_almost_nothing_and_noise_costs_eight_bits() {
        let cycle = b"abcdefgh".repeat(100);
        assert!(Bigram::fit(&cycle).bits_per_byte(Some(b'h'), &cycle) < 0.1);

        let mut state = 1_u64;
        let noise: Vec<u8> = (0..100_000)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                (state >> 56) as u8
            })
            .collect();
        let (train, valid) = noise.split_at(90_000);
        let bits = Bigram::fit(train).bits_per_byte(None, valid);
        assert!((7.9..8.3).contains(&bits), "{bits}");
    }
}
