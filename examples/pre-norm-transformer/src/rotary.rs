//! Rotary positions: each pair of features turns by an angle that grows with the position.
//!
//! Su et al. 2021, <https://arxiv.org/abs/2104.09864>. Feature `i` is paired with feature
//! `i + head_size / 2`, so that a rotation is two products of contiguous halves.

use burn::module::Module;
use burn::tensor::{Device, Int, Tensor};

/// The slowest pair turns once in about this many times 2π positions.
const BASE: f64 = 10_000.0;

/// The cosines and sines of every position, `[1, 1, positions, head_size / 2]`.
#[derive(Module, Debug)]
pub struct Rotary {
    cos: Tensor<4>,
    sin: Tensor<4>,
}

impl Rotary {
    /// Tabulates the angles of `positions` positions; `head_size` must be even.
    pub fn new(positions: usize, head_size: usize, device: &Device) -> Self {
        let pairs = head_size / 2;
        let frequency = Tensor::<1, Int>::arange(0..pairs as i64, device)
            .float()
            .mul_scalar(-BASE.ln() / pairs as f64)
            .exp()
            .reshape([1, 1, 1, pairs]);
        let position = Tensor::<1, Int>::arange(0..positions as i64, device)
            .float()
            .reshape([1, 1, positions, 1]);
        let angle = position * frequency;
        Self {
            cos: angle.clone().cos(),
            sin: angle.sin(),
        }
    }

    /// Rotates `x`, `[batch, heads, time, head_size]`, by the angles of its first `time` positions.
    pub fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        let [_, _, time, head_size] = x.dims();
        let half = head_size / 2;
        let cos = self.cos.clone().narrow(2, 0, time);
        let sin = self.sin.clone().narrow(2, 0, time);
        let a = x.clone().narrow(3, 0, half);
        let b = x.narrow(3, half, half);
        Tensor::cat(
            vec![
                a.clone() * cos.clone() - b.clone() * sin.clone(),
                b * cos + a * sin,
            ],
            3,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::{Distribution, Tolerance};

    /// The product of a query at position `m` with a key at position `n`, both rotated.
    fn score(rotary: &Rotary, query: &Tensor<4>, key: &Tensor<4>, m: usize, n: usize) -> f32 {
        let at = |x: &Tensor<4>, position: usize| {
            let time = position + 1;
            rotary
                .forward(x.clone().repeat_dim(2, time))
                .narrow(2, position, 1)
        };
        (at(query, m) * at(key, n)).sum().into_scalar::<f32>()
    }

    #[test]
    fn position_zero_is_left_alone_and_lengths_are_kept() {
        let device = Device::default();
        let rotary = Rotary::new(16, 8, &device);
        let x = Tensor::<4>::random([2, 3, 16, 8], Distribution::Default, &device);
        let y = rotary.forward(x.clone());
        assert_eq!(
            x.clone().narrow(2, 0, 1).to_data(),
            y.clone().narrow(2, 0, 1).to_data()
        );
        let norm = |t: Tensor<4>| t.square().sum_dim(3).into_data();
        norm(x).assert_approx_eq::<f32>(&norm(y), Tolerance::default());
    }

    #[test]
    fn a_score_depends_on_the_distance_alone() {
        let device = Device::default();
        let rotary = Rotary::new(32, 8, &device);
        let query = Tensor::<4>::random([1, 1, 1, 8], Distribution::Default, &device);
        let key = Tensor::<4>::random([1, 1, 1, 8], Distribution::Default, &device);
        let near = score(&rotary, &query, &key, 5, 2);
        let shifted = score(&rotary, &query, &key, 25, 22);
        let far = score(&rotary, &query, &key, 25, 2);
        assert!((near - shifted).abs() < 1e-4, "{near} and {shifted}");
        assert!((near - far).abs() > 1e-2, "{near} and {far}");
    }
}
