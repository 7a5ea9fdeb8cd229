//! What a problem costs: the bytes that must move through memory.
//!
//! RMSNorm does a handful of operations an element, so its time is the bytes over the memory's
//! bandwidth; these figures are the floor against which a kernel is judged.

use crate::Problem;

/// Bytes of a forward pass over elements of `size` bytes: x is read, y is written, and gamma and
/// beta (`parameter_bytes` in all) are read.
///
/// ```
/// use fused_norm_kernels::{Problem, cost};
///
/// let problem = Problem::new(4096, 4096, 4096, 1e-5)?;
/// assert_eq!(cost::forward_bytes(&problem, 4, 4096 * 4), 134_234_112);
/// # Ok::<(), fused_norm_kernels::Error>(())
/// ```
pub fn forward_bytes(problem: &Problem, size: usize, parameter_bytes: usize) -> usize {
    2 * problem.elements() * size + parameter_bytes
}

/// Bytes of a backward pass over elements of `size` bytes: x and dy are read, dx is written, rstd
/// (`statistic_size` bytes a row) and gamma are read, and the gradients of gamma and beta written. No gradient
/// needs beta.
pub fn backward_bytes(
    problem: &Problem,
    size: usize,
    statistic_size: usize,
    gamma_bytes: usize,
    beta_bytes: usize,
) -> usize {
    3 * problem.elements() * size + problem.rows() * statistic_size + 2 * gamma_bytes + beta_bytes
}
