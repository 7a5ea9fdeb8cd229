//! What does LLaMA's own code give, to the bit?

use crate::kind::FloatKind;

/// RMSNorm in the order of LLaMA's code, one element after the other in `f32`:
/// `x · rstd` is rounded to `kind`, and so is its product with gamma, which is rounded to `kind`
/// before.
///
/// The values of `x` are those of `kind`, in rows as long as `gamma`. For `f32` and the 16-bit kinds.
/// Where the squares of a row add up exactly, as those of 4096 numbers of
/// [`patterns::p`](crate::patterns::p) do, every order of the sum gives these bits.
///
/// # Panics
///
/// Panics when `kind` is `f64`, or `x` is not whole rows.
pub fn llama_order(x: &[f64], gamma: &[f64], epsilon: f64, kind: FloatKind) -> Vec<f64> {
    assert!(kind != FloatKind::F64, "llama_order: statistics are f32");
    assert_eq!(x.len() % gamma.len(), 0, "llama_order: x is not whole rows");
    let mut y = Vec::with_capacity(x.len());
    for row in x.chunks_exact(gamma.len()) {
        let row: Vec<f32> = row.iter().map(|x| *x as f32).collect();
        let squares: f32 = row.iter().map(|x| x * x).sum();
        let rstd = 1.0 / (squares / row.len() as f32 + epsilon as f32).sqrt();
        for (x, gamma) in row.iter().zip(gamma) {
            let normalised = kind.round(f64::from(x * rstd)) as f32;
            let gamma = kind.round(*gamma) as f32;
            y.push(kind.round(f64::from(normalised * gamma)));
        }
    }
    y
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patterns::{g, p};

    #[test]
    fn squares_of_the_pattern_add_up_exactly() {
        for row in 0..64 {
            let squares = (row * 4096..(row + 1) * 4096).map(|i| p(i) * p(i));
            let exact: f64 = squares.clone().sum();
            let single: f32 = squares.map(|square| square as f32).sum();
            assert_eq!(f64::from(single), exact);
        }
    }

    #[test]
    fn rounds_twice() {
        let (x, gamma): (Vec<f64>, Vec<f64>) =
            ((0..4096).map(p).collect(), (0..4096).map(g).collect());
        let kind = FloatKind::BF16;
        let y = llama_order(&x, &gamma, 1e-5, kind);
        let rstd = 1.0 / (x.iter().map(|x| x * x).sum::<f64>() / 4096.0 + 1e-5).sqrt();
        let twice = |j: usize| kind.round(kind.round(x[j] * rstd) * gamma[j]);
        let once = |j: usize| kind.round(x[j] * rstd * gamma[j]);
        assert!((0..4096).all(|j| y[j] == twice(j)));
        let differ = (0..4096).filter(|j| once(*j) != y[*j]).count();
        assert!(differ > 400, "{differ} of 4096");
    }
}
