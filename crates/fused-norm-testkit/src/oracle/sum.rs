//! How are long sums taken so that the oracle's own error stays at a few units of `f64`?

/// Neumaier's compensated sum: the error does not grow with the number of terms.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum {
    total: f64,
    lost: f64,
}

impl Sum {
    /// Adds one term.
    pub(crate) fn add(&mut self, term: f64) {
        let next = self.total + term;
        self.lost += if self.total.abs() >= term.abs() {
            (self.total - next) + term
        } else {
            (term - next) + self.total
        };
        self.total = next;
    }

    /// The sum; infinities and NaN come out as a plain sum would give them.
    pub(crate) fn value(self) -> f64 {
        if self.total.is_finite() {
            self.total + self.lost
        } else {
            self.total
        }
    }
}

/// Sum of all terms of an iterator.
pub(crate) fn sum(terms: impl Iterator<Item = f64>) -> f64 {
    let mut sum = Sum::default();
    terms.for_each(|term| sum.add(term));
    sum.value()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_terms_survive_large_ones() {
        assert_eq!(sum([1e100, 1.0, -1e100].into_iter()), 1.0);
        assert_eq!(sum(std::iter::repeat_n(0.1, 10_000_000)), 1e6);
    }

    #[test]
    fn infinities_and_nan_are_kept() {
        assert_eq!(sum([1.0, f64::INFINITY, 2.0].into_iter()), f64::INFINITY);
        assert!(sum([1.0, f64::NAN].into_iter()).is_nan());
    }
}
