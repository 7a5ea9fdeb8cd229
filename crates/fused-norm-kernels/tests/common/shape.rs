//! Rows that lie side by side, and the same ones apart.

use fused_norm_kernels::Problem;
use fused_norm_kernels::cpu::Interleaved;

/// `[outer, row_len, inner]`, and its rows one after the other.
#[derive(Clone, Copy)]
pub struct Shape {
    pub outer: usize,
    pub row_len: usize,
    pub inner: usize,
}

impl Shape {
    pub fn problem(self, stat_len: usize) -> Problem {
        Problem::new(self.outer * self.inner, self.row_len, stat_len, 1e-5).unwrap()
    }

    pub fn elements(self) -> usize {
        self.outer * self.row_len * self.inner
    }

    /// Rows one after the other, from rows side by side.
    pub fn apart<V: Copy>(self, values: &[V]) -> Vec<V> {
        assert_eq!(values.len(), self.elements());
        (0..self.elements())
            .map(|index| {
                let (row, j) = (index / self.row_len, index % self.row_len);
                let (group, i) = (row / self.inner, row % self.inner);
                values[(group * self.row_len + j) * self.inner + i]
            })
            .collect()
    }

    pub fn dense<V>(self, data: &[V]) -> Interleaved<'_, V> {
        Interleaved::new(data, self.inner, self.row_len * self.inner)
    }
}
