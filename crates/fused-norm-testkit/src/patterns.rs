//! Which numbers fill the tensors of a case?
//!
//! The patterns are exact in every [`FloatKind`](crate::FloatKind) and have no symmetry that a wrong
//! index could hide behind.

/// Pattern of inputs: a multiple of 1/32 in [-50/32, 50/32], `i` the flat index.
pub fn p(i: usize) -> f64 {
    (((37 * i + 11) % 101) as f64 - 50.0) / 32.0
}

/// Pattern of output gradients: a multiple of 1/32 in [-48/32, 48/32], `i` the flat index.
pub fn q(i: usize) -> f64 {
    (((53 * i + 7) % 97) as f64 - 48.0) / 32.0
}

/// Pattern of gamma: a multiple of 1/64 around 1, `j` the column.
pub fn g(j: usize) -> f64 {
    1.0 + (((29 * j + 3) % 31) as f64 - 15.0) / 64.0
}

/// Pattern of beta: a multiple of 1/16 in [-11/16, 11/16], `j` the column.
pub fn b(j: usize) -> f64 {
    (((31 * j + 5) % 23) as f64 - 11.0) / 16.0
}

/// Pattern of residuals and gates: a multiple of 1/16 in [-44/16, 44/16], `i` the flat index.
pub fn r(i: usize) -> f64 {
    (((43 * i + 29) % 89) as f64 - 44.0) / 16.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FloatKind;

    #[test]
    fn patterns_are_exact_in_every_kind() {
        for i in 0..20_000 {
            for value in [p(i), q(i), g(i), b(i), r(i)] {
                for kind in FloatKind::ALL {
                    assert_eq!(kind.round(value), value);
                }
            }
        }
    }

    #[test]
    fn first_values() {
        assert_eq!([p(0), p(1), p(2)], [-39.0 / 32.0, -2.0 / 32.0, 35.0 / 32.0]);
        assert_eq!([q(0), q(1)], [-41.0 / 32.0, 12.0 / 32.0]);
        assert_eq!([r(0), r(1)], [-15.0 / 16.0, 28.0 / 16.0]);
        assert_eq!([g(0), g(1)], [1.0 - 12.0 / 64.0, 1.0 - 14.0 / 64.0]);
    }
}
