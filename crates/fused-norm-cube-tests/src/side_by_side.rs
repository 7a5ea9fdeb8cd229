//! One operation on rows that lie side by side, run on a device and compared with the oracle for
//! rows one after the other.

use cubecl::client::Client;
use fused_norm_kernels::cube::{
    self, Interleaved, InterleavedBackward, InterleavedForward, OperandKind, Wanted,
};
use fused_norm_testkit::FloatKind;

use crate::numbers::{bytes, elem, values};
use crate::reference::{Bounds, reference};
use crate::trial::Trial;

/// outer, row_len, stat_len, inner: an odd number of rows side by side, as many as fill vectors, one, more
/// elements than a span takes, more positions than a cube has lanes, no rows.
pub const SHAPES: [[usize; 4]; 8] = [
    [2, 33, 33, 7],
    [3, 64, 30, 12],
    [5, 3, 2, 1],
    [1, 700, 351, 8],
    [2, 2300, 2300, 2],
    [2, 5, 5, 1200],
    [1, 1, 1, 64],
    [0, 6, 5, 4],
];

/// An operation, and how many rows lie side by side.
#[derive(Debug, Clone)]
pub struct SideBySide {
    /// The rows, one after the other.
    pub rows: Trial,
    /// Rows of a group.
    pub inner: usize,
}

impl SideBySide {
    /// `[groups, row_len, stat_len, rows of a group]`
    pub fn new(
        [outer, row_len, stat_len, inner]: [usize; 4],
        kind: FloatKind,
        turn: usize,
    ) -> Self {
        let shape = [outer * inner, row_len, stat_len, 1];
        Self {
            rows: Trial::new(shape, OperandKind::None, kind, turn),
            inner,
        }
    }

    fn dense(&self) -> usize {
        self.rows.problem.row_len() * self.inner
    }

    /// Rows one after the other, as they lie side by side, with NaN between the groups.
    fn beside(&self, rows: &[f64], pitch: usize) -> Vec<f64> {
        let (row_len, inner) = (self.rows.problem.row_len(), self.inner);
        let mut values = vec![f64::NAN; rows.len() / self.dense() * pitch];
        for (row, elements) in rows.chunks(row_len).enumerate() {
            for (j, element) in elements.iter().enumerate() {
                values[row / inner * pitch + j * inner + row % inner] = *element;
            }
        }
        values
    }

    /// Rows one after the other, from dense groups of rows side by side.
    fn apart(&self, beside: &[f64]) -> Vec<f64> {
        let row_len = self.rows.problem.row_len();
        let place = |index: usize| {
            let (row, j) = (index / row_len, index % row_len);
            row / self.inner * self.dense() + j * self.inner + row % self.inner
        };
        (0..beside.len())
            .map(|index| beside[place(index)])
            .collect()
    }

    /// Rows side by side, with so many elements between the groups.
    pub fn upload(&self, client: &Client, rows: &[f64], gap: usize) -> Interleaved {
        let pitch = self.dense() + gap;
        let values = self.beside(rows, pitch);
        Interleaved {
            handle: client.create_from_slice(&bytes(self.rows.kind, &values)),
            elem: elem(self.rows.kind),
            inner: self.inner,
            pitch,
        }
    }

    /// What a forward pass takes.
    pub fn forward(&self, client: &Client, gap: usize) -> InterleavedForward {
        InterleavedForward {
            x: self.upload(client, &self.rows.inputs.x, gap),
            affine: self.rows.affine(client),
            with_rstd: true,
        }
    }

    /// y, rstd, dx, dgamma, dbeta, with gaps behind the groups of dy and of x.
    ///
    /// # Panics
    ///
    /// If the kernels refuse it.
    pub fn outputs(&self, client: &Client, gaps: [usize; 2], wanted: Wanted) -> [Vec<f64>; 5] {
        let problem = &self.rows.problem;
        let forward = self.forward(client, gaps[1]);
        let normalised = cube::interleaved_forward(client, problem, forward.clone()).unwrap();
        assert!(normalised.sum.is_none());
        let rstd = normalised.rstd.unwrap();
        let backward = InterleavedBackward {
            dy: self.upload(client, &self.rows.inputs.dy, gaps[0]),
            x: forward.x,
            rstd: rstd.clone(),
            affine: forward.affine,
            wanted,
        };
        let gradients = cube::interleaved_backward(client, problem, backward).unwrap();
        assert!(gradients.dgate.is_none());
        let kind = self.rows.kind;
        let read = |kind, handle| values(kind, &client.read_one_unchecked(handle));
        let some = |kind, handle: Option<_>| handle.map_or(vec![], |handle| read(kind, handle));
        [
            read(kind, normalised.y),
            read(self.rows.kinds().statistic(), rstd),
            some(kind, gradients.dx),
            some(self.rows.gamma_kind, gradients.dgamma),
            some(self.rows.beta_kind, gradients.dbeta),
        ]
    }

    /// What is wrong with the outputs, a line each.
    pub fn wrong(&self, client: &Client, gaps: [usize; 2], wanted: Wanted) -> Vec<String> {
        let Trial {
            problem,
            operand,
            inputs,
            ..
        } = &self.rows;
        let expected = reference(problem, *operand, self.rows.kinds(), inputs);
        let [y, rstd, dx, dgamma, dbeta] = self.outputs(client, gaps, wanted);
        let nothing = Bounds::default;
        let pick = |wanted: bool, bounds| if wanted { bounds } else { nothing() };
        [
            ("y", self.apart(&y), expected.y),
            ("rstd", rstd, expected.rstd),
            ("dx", self.apart(&dx), pick(wanted.dx, expected.dx)),
            ("dgamma", dgamma, pick(wanted.dgamma, expected.dgamma)),
            ("dbeta", dbeta, pick(wanted.dbeta, expected.dbeta)),
        ]
        .into_iter()
        .filter_map(|(what, got, expected)| expected.wrong(what, &got))
        .map(|wrong| format!("{} side by side {gaps:?}: {wrong}", self.rows.name()))
        .collect()
    }
}
