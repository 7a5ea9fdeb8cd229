//! What is measured: shapes, types and passes, and the bytes that they cannot do without.

use burn::tensor::DType;
use fused_norm_kernels::{Problem, cost};
use fused_norm_testkit::FloatKind;

/// The layers' default.
pub const EPSILON: f64 = 1e-5;

/// Activations together, so that each comes from memory and not from a cache of tens of MiB.
const ROTATED_BYTES: usize = 128 << 20;
/// Activations at most: those of decoding are found in the cache, as in a model, where the layer
/// before has just written them.
const ROTATED: usize = 8;

/// The types of the table.
pub const KINDS: [FloatKind; 2] = [FloatKind::F32, FloatKind::BF16];

/// What is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pass {
    /// x to y.
    Forward,
    /// dy, x and rstd to dx and dgamma.
    Backward,
    /// Forward and `backward()`, all gradients.
    Training,
}

impl Pass {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Forward, Self::Backward, Self::Training];

    /// Lower-case name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Backward => "backward",
            Self::Training => "training",
        }
    }
}

/// Rows of a type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Type of the elements.
    pub kind: FloatKind,
    /// Number of rows.
    pub rows: usize,
    /// Elements of a row.
    pub row_len: usize,
}

impl Shape {
    /// Elements in all.
    pub fn elements(&self) -> usize {
        self.rows * self.row_len
    }

    /// Bytes of an activation.
    pub fn bytes(&self) -> usize {
        self.elements() * self.size()
    }

    /// Activations that calls take in turn.
    pub fn rotated(&self) -> usize {
        ROTATED_BYTES.div_ceil(self.bytes()).clamp(1, ROTATED)
    }

    /// Burn's name of the type.
    pub fn dtype(&self) -> DType {
        match self.kind {
            FloatKind::F64 => DType::F64,
            FloatKind::F32 => DType::F32,
            FloatKind::F16 => DType::F16,
            FloatKind::BF16 => DType::BF16,
        }
    }

    /// The problem of the kernels.
    ///
    /// # Errors
    ///
    /// If the shape is none.
    pub fn problem(&self) -> Result<Problem, String> {
        Problem::new(self.rows, self.row_len, self.row_len, EPSILON)
            .map_err(|error| error.to_string())
    }

    /// Bytes that a pass with `parameters` parameters moves at least.
    ///
    /// # Errors
    ///
    /// If the shape is none.
    pub fn pass_bytes(&self, pass: Pass, parameters: usize) -> Result<usize, String> {
        let problem = self.problem()?;
        // The second one is a beta.
        let [gamma, beta] = [parameters.min(1), parameters.saturating_sub(1)]
            .map(|there| there * self.row_len * self.size());
        let forward = || cost::forward_bytes(&problem, self.size(), gamma + beta);
        let backward = || cost::backward_bytes(&problem, self.size(), 4, gamma, beta);
        Ok(match pass {
            Pass::Forward => forward(),
            Pass::Backward => backward(),
            Pass::Training => forward() + backward(),
        })
    }

    fn size(&self) -> usize {
        fused_norm_cube_tests::elem(self.kind).size()
    }
}

/// The shapes of a type, those first that matter most if the time runs out.
pub fn shapes(kind: FloatKind, quick: bool, max_elements: Option<usize>) -> Vec<Shape> {
    const MEBI: usize = 1 << 20;
    let lengths: &[usize] = match quick {
        true => &[4096, 128, 131_072],
        false => &[4096, 1024, 128, 8192, 131_072, 64, 16_384, 256, 65_536],
    };
    let batches: &[usize] = if quick { &[8] } else { &[1, 8, 64] };
    let totals: &[usize] = if quick {
        &[8 * MEBI]
    } else {
        &[64 * MEBI, 8 * MEBI]
    };

    let most = max_elements.unwrap_or(usize::MAX);
    let large = lengths.iter().flat_map(|&row_len| {
        let rows = move |&total: &usize| (total.min(most) / row_len).max(1);
        totals.iter().map(move |total| (rows(total), row_len))
    });
    let decoding = [4096, 8192].into_iter().flat_map(|row_len| {
        let rows = move |&rows: &usize| (rows.min(most.div_ceil(row_len)), row_len);
        batches.iter().map(rows)
    });
    let mut shapes: Vec<Shape> = Vec::new();
    for (rows, row_len) in large.chain(decoding) {
        let shape = Shape {
            kind,
            rows,
            row_len,
        };
        if !shapes.contains(&shape) {
            shapes.push(shape);
        }
    }
    shapes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_has_both_totals_and_decoding_its_rows() {
        let shapes = shapes(FloatKind::F32, false, None);
        assert_eq!(shapes.len(), 9 * 2 + 3 * 2);
        let total = |n: usize| shapes.iter().filter(|s| s.elements() == n << 20).count();
        assert_eq!((total(8), total(64)), (9, 9));
    }
}
