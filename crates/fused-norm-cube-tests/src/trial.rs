//! One operation with made-up numbers, run on a device and compared with the oracle.

use cubecl::client::Client;
use cubecl::server::Handle;
use fused_norm_kernels::cube::{
    self, Affine, Backward, Form, Forward, Gate, Gradients, Mapping, Operand, OperandKind,
    Parameter, Pass, Routine, Rows, Wanted,
};
use fused_norm_kernels::{GateOrder, Problem, Rounding};
use fused_norm_testkit::FloatKind;

use crate::numbers::{bytes, elem, values};
use crate::reference::{Bounds, Inputs, Kinds, reference};

const EPSILON: f64 = 1e-5;

/// All that may meet x.
pub const OPERANDS: [OperandKind; 4] = [
    OperandKind::None,
    OperandKind::Residual,
    OperandKind::Gate(GateOrder::AfterNorm),
    OperandKind::Gate(GateOrder::BeforeNorm),
];

/// rows, row_len, stat_len, rows of gamma: odd lengths, statistics that end within a vector, row groups
/// that do and do not divide gamma's rows, more rows of gamma than a cube has row groups, no rows.
pub const SHAPES: [[usize; 4]; 9] = [
    [5, 33, 33, 1],
    [12, 64, 30, 3],
    [40, 8, 8, 8],
    [9, 1028, 514, 3],
    [16, 260, 131, 8],
    [3, 2048, 2048, 1],
    [210, 16, 9, 70],
    [600, 4, 3, 300],
    [0, 12, 5, 4],
];

/// An operation, its types and its numbers.
#[derive(Debug, Clone)]
pub struct Trial {
    /// What is computed.
    pub problem: Problem,
    /// What meets x.
    pub operand: OperandKind,
    /// Type of x.
    pub kind: FloatKind,
    /// Type of gamma.
    pub gamma_kind: FloatKind,
    /// Type of beta.
    pub beta_kind: FloatKind,
    /// The numbers.
    pub inputs: Inputs,
}

/// Numbers in [−1, 1) that look random, of a kind.
pub fn numbers(seed: u64, len: usize, kind: FloatKind) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    let numbers = std::iter::repeat_with(next).take(len);
    numbers.map(|number| kind.round(number)).collect()
}

impl Trial {
    /// `[rows, row_len, stat_len, rows of gamma]`; the conventions, the parameters and their types take
    /// turns.
    ///
    /// # Panics
    ///
    /// If there is no such problem.
    pub fn new(
        [rows, row_len, stat_len, gamma_rows]: [usize; 4],
        operand: OperandKind,
        kind: FloatKind,
        turn: usize,
    ) -> Self {
        let problem = Problem::new(rows, row_len, stat_len, EPSILON)
            .and_then(|problem| problem.with_gamma_rows(gamma_rows))
            .unwrap()
            .with_zero_centered(turn % 2 == 1)
            .with_rounding([Rounding::Once, Rounding::BeforeGamma][turn / 2 % 2]);
        let other = if kind == FloatKind::F64 {
            kind
        } else {
            FloatKind::F32
        };
        let gamma_kind = [kind, other][turn % 2];
        let beta_kind = [other, kind][turn / 2 % 2];
        let seed = 10 * (turn as u64 + 1);
        let (all, gamma_len) = (problem.elements(), problem.gamma_len());
        let mut second = numbers(seed + 1, all, kind);
        if matches!(operand, OperandKind::Gate(_)) {
            // Most around 0, and some as large as they are in practice never.
            for (at, v) in second.iter_mut().enumerate() {
                *v = kind.round(*v * if at % 13 == 5 { 90.0 } else { 4.0 });
            }
        }
        Self {
            problem,
            operand,
            kind,
            gamma_kind,
            beta_kind,
            inputs: Inputs {
                x: numbers(seed, all, kind),
                second,
                dy: numbers(seed + 2, all, kind),
                gamma: (turn % 5 != 4).then(|| numbers(seed + 3, gamma_len, gamma_kind)),
                beta: (turn % 5 < 2).then(|| numbers(seed + 4, gamma_len, beta_kind)),
            },
        }
    }

    /// The kinds of x, gamma and beta.
    pub fn kinds(&self) -> Kinds {
        Kinds {
            x: self.kind,
            gamma: self.gamma_kind,
            beta: self.beta_kind,
        }
    }

    /// What it is, in a line.
    pub fn name(&self) -> String {
        let (gamma, beta) = (&self.inputs.gamma, &self.inputs.beta);
        format!(
            "{:?} {:?} {:?} gamma {:?} beta {:?}",
            self.problem,
            self.operand,
            self.kind,
            gamma.as_ref().map(|_| self.gamma_kind),
            beta.as_ref().map(|_| self.beta_kind)
        )
    }

    /// As many rows as there are, uploaded.
    pub fn rows(&self, client: &Client, values: &[f64]) -> Rows {
        let handle = client.create_from_slice(&bytes(self.kind, values));
        Rows::dense(handle, elem(self.kind), self.problem.row_len())
    }

    /// The gate, uploaded, if there is one.
    pub fn gate(&self, client: &Client) -> Option<Gate> {
        let OperandKind::Gate(order) = self.operand else {
            return None;
        };
        let rows = self.rows(client, &self.inputs.second);
        Some(Gate { rows, order })
    }

    /// gamma and beta, uploaded.
    pub fn affine(&self, client: &Client) -> Affine {
        let parameter = |values: &Option<Vec<f64>>, kind| {
            values.as_ref().map(|values| Parameter {
                handle: client.create_from_slice(&bytes(kind, values)),
                elem: elem(kind),
            })
        };
        let gamma = parameter(&self.inputs.gamma, self.gamma_kind);
        let beta = parameter(&self.inputs.beta, self.beta_kind);
        match (gamma, beta) {
            (Some(gamma), Some(beta)) => Affine::ScaleShift { gamma, beta },
            (Some(gamma), None) => Affine::Scale { gamma },
            _ => Affine::None,
        }
    }

    /// Every gradient that there is.
    pub fn all(&self) -> Wanted {
        Wanted {
            dx: true,
            dgate: matches!(self.operand, OperandKind::Gate(_)),
            dgamma: self.inputs.gamma.is_some(),
            dbeta: self.inputs.beta.is_some(),
        }
    }

    /// What a forward pass takes.
    pub fn forward(&self, client: &Client, mapping: Mapping) -> Forward {
        Forward {
            x: self.rows(client, &self.inputs.x),
            operand: match self.operand {
                OperandKind::Residual => Operand::Residual(self.rows(client, &self.inputs.second)),
                _ => self.gate(client).map_or(Operand::None, Operand::Gate),
            },
            affine: self.affine(client),
            with_rstd: true,
            in_place: false,
            mapping,
        }
    }

    /// What a backward pass takes behind a forward pass.
    ///
    /// # Panics
    ///
    /// If that has kept no rstd.
    pub fn backward(
        &self,
        client: &Client,
        normalised: &cube::Normalised,
        wanted: Wanted,
        mapping: Mapping,
    ) -> Backward {
        let mut x = self.rows(client, &self.inputs.x);
        if let Some(sum) = normalised.sum.clone() {
            x.handle = sum;
        }
        Backward {
            dy: self.rows(client, &self.inputs.dy),
            x,
            gate: self.gate(client),
            rstd: normalised.rstd.clone().expect("rstd was asked for"),
            affine: self.affine(client),
            wanted,
            mapping,
        }
    }

    /// Both passes.
    ///
    /// # Panics
    ///
    /// If the kernels refuse it.
    pub fn run(
        &self,
        client: &Client,
        routine: Option<Routine>,
        wanted: Wanted,
    ) -> (cube::Normalised, Gradients) {
        let limits = None;
        self.run_as(client, Mapping { routine, limits }, wanted)
    }

    /// [`run`](Self::run), within limits of our choice too.
    ///
    /// # Panics
    ///
    /// Likewise.
    pub fn run_as(
        &self,
        client: &Client,
        mapping: Mapping,
        wanted: Wanted,
    ) -> (cube::Normalised, Gradients) {
        let forward = self.forward(client, mapping);
        let normalised = cube::forward(client, &self.problem, forward).unwrap();
        let backward = self.backward(client, &normalised, wanted, mapping);
        let gradients = cube::backward(client, &self.problem, backward).unwrap();
        (normalised, gradients)
    }

    /// What is wrong with the outputs, a line each.
    pub fn wrong(&self, client: &Client, routine: Option<Routine>, wanted: Wanted) -> Vec<String> {
        let (normalised, gradients) = self.run(client, routine, wanted);
        let kinds = self.kinds();
        let expected = reference(&self.problem, self.operand, kinds, &self.inputs);
        let mut wrong = vec![];
        let mut compare = |what, kind, handle: Option<Handle>, expected: &Bounds| {
            if let Some(handle) = handle {
                let got = values(kind, &client.read_one_unchecked(handle));
                wrong.extend(expected.wrong(what, &got));
            }
        };
        compare("y", kinds.x, Some(normalised.y), &expected.y);
        compare("sum", kinds.x, normalised.sum, &expected.sum);
        compare("rstd", kinds.statistic(), normalised.rstd, &expected.rstd);
        compare("dx", kinds.x, gradients.dx, &expected.dx);
        compare("dgate", kinds.x, gradients.dgate, &expected.dgate);
        compare("dgamma", kinds.gamma, gradients.dgamma, &expected.dgamma);
        compare("dbeta", kinds.beta, gradients.dbeta, &expected.dbeta);
        let place = format!("{routine:?} {}", self.name());
        wrong
            .iter()
            .map(|wrong| format!("{place}: {wrong}"))
            .collect()
    }

    /// The routine can take the rows in both passes.
    pub fn can_run(&self, client: &Client, routine: Routine) -> bool {
        let limits = Mapping::default().limits_on(client);
        [Pass::Forward, Pass::Backward].into_iter().all(|pass| {
            let operand = match (self.operand, pass) {
                (OperandKind::Residual, Pass::Backward) => OperandKind::None,
                (operand, _) => operand,
            };
            let form = Form::of(&self.problem, operand, true, elem(self.kind), pass);
            let class = cube::row_class(self.problem.row_len(), elem(self.kind));
            cube::prepare(routine, &class.with_inputs(form.inputs()), pass, &limits).is_some()
        })
    }
}
