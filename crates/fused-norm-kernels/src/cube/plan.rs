//! How the launches of a backward pass share the work.

use cubecl::ir::ElemType;

use super::types::row_class;
use super::{Blueprint, DeviceLimits, Form, Routine};
use crate::Problem;

/// Multiprocessors of a device that does not say how many it has.
const PROCESSORS: u32 = 32;
/// Cubes a multiprocessor that walk over the rows of a backward pass, each with a row of partial sums.
const CUBES_A_PROCESSOR: u32 = 2;

/// Terms that a unit adds up in f32 before it begins a new partial sum, and cubes at most that do so:
/// a sum that runs through many rows drifts, by 6e-4 where 65 536 equal terms are added.
const ROWS_A_SUM: usize = 256;
const UNIT_CUBES: u32 = 256;

/// The launches of a backward pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Plan {
    pub blueprint: Blueprint,
    pub form: Form,
    pub cubes: u32,
    /// Neighbouring rows that a cube of the streamed kernel walks over.
    pub rows_a_cube: usize,
    /// Rows of partial sums of dgamma and dbeta, each as long as these, or `None` where columns are
    /// summed without any.
    pub partial_rows: Option<usize>,
    pub columns: Columns,
    pub statistic: ElemType,
}

impl Plan {
    pub fn new(
        problem: &Problem,
        blueprint: Blueprint,
        form: Form,
        statistic: ElemType,
        limits: &DeviceLimits,
    ) -> Self {
        let gamma_rows = gamma_rows(problem, form);
        let persistent = limits.processors.unwrap_or(PROCESSORS).max(1) * CUBES_A_PROCESSOR;
        let busy = blueprint.cubes(problem.rows());
        let units = blueprint.units() as usize;
        // Units that lack a row of every row of gamma would have more sums than there are rows. With one row
        // of gamma these are few, and the kernels the same whatever the rows.
        let has_sums = match blueprint.routine {
            Routine::Looped => false,
            Routine::Unit => !form.periodic || problem.rows() >= units.saturating_mul(gamma_rows),
            Routine::Plane | Routine::Cube => true,
        };
        let (cubes, most) = match blueprint.routine {
            Routine::Unit if has_sums => (
                busy.div_ceil(ROWS_A_SUM.saturating_mul(gamma_rows)),
                UNIT_CUBES,
            ),
            // Every thread walks over all cubes.
            Routine::Unit if limits.threads => (busy, 1),
            Routine::Unit | Routine::Looped => (busy, limits.max_cubes),
            Routine::Plane | Routine::Cube => (busy, persistent),
        };
        let most = most.min(limits.max_cubes) as usize;
        let mut cubes = cubes.min(most);
        let groups = blueprint.row_groups as usize;
        let mut partial_rows = has_sums.then(|| match blueprint.routine {
            Routine::Unit => cubes * units,
            _ => cubes,
        });
        if form.periodic && blueprint.vectors > 0 {
            // The row groups of so many cubes are a multiple of gamma's rows: whatever row a group
            // walks to, it meets the same row of gamma.
            let turn = gamma_rows / common_divisor(gamma_rows, groups);
            partial_rows = (turn <= most).then(|| {
                cubes = cubes.next_multiple_of(turn).min(most / turn * turn);
                cubes * groups / gamma_rows
            });
        }
        Self {
            blueprint,
            form,
            cubes: cubes as u32,
            rows_a_cube: busy.div_ceil(cubes.max(1)) * groups,
            partial_rows,
            columns: match partial_rows {
                Some(_) => Columns::of_partial_sums(problem.gamma_len(), statistic, limits),
                None => Columns::new(
                    problem.gamma_len(),
                    blueprint.vector_size,
                    statistic,
                    limits,
                ),
            },
            statistic,
        }
    }

    /// What the indices of rows and of sums stay below: a sum over columns takes its last step from one
    /// of the last rows to beyond them.
    pub fn index_bound(&self, problem: &Problem) -> usize {
        match self.partial_rows {
            Some(rows) => rows.saturating_mul(problem.gamma_len()),
            None => (self.columns.row_groups as usize)
                .saturating_mul(gamma_rows(problem, self.form))
                .saturating_add(problem.rows()),
        }
    }
}

/// Rows of gamma that rows take turns in.
fn gamma_rows(problem: &Problem, form: Form) -> usize {
    if form.periodic {
        problem.gamma_rows()
    } else {
        1
    }
}

/// Euclid's; `b` is not 0.
fn common_divisor(mut a: usize, mut b: usize) -> usize {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// How columns are summed: neighbouring vectors of columns by the lanes of a cube, and several rows at
/// a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Columns {
    pub vector_size: usize,
    pub lanes: u32,
    pub row_groups: u32,
    pub cubes: u32,
}

impl Columns {
    /// A cache line of neighbouring columns, and as many rows at a time as a cube of 256 has left, or
    /// one where shared memory is too small. Threads take a column each.
    pub fn new(
        gamma_len: usize,
        vector_size: usize,
        statistic: ElemType,
        limits: &DeviceLimits,
    ) -> Self {
        let (lanes, row_groups) = if limits.threads {
            (limits.max_units, 1)
        } else {
            let lanes = 32.min(limits.max_units);
            let row_groups = 256.min(limits.max_units) / lanes;
            // One for dgamma and one for dbeta.
            let shared = 2 * (row_groups * lanes) as usize * vector_size * statistic.size();
            let fits = shared <= limits.max_shared_memory;
            (lanes, if fits { row_groups } else { 1 })
        };
        let most = if limits.threads { 1 } else { limits.max_cubes };
        let cubes = (gamma_len / vector_size).div_ceil(lanes as usize);
        Self {
            vector_size,
            lanes,
            row_groups,
            cubes: cubes.min(most as usize) as u32,
        }
    }

    /// The columns of rows of partial sums.
    pub fn of_partial_sums(gamma_len: usize, statistic: ElemType, limits: &DeviceLimits) -> Self {
        let vector_size = row_class(gamma_len, statistic).vector_size(limits);
        Self::new(gamma_len, vector_size, statistic, limits)
    }

    /// Units of a cube.
    pub fn units(&self) -> u32 {
        self.lanes * self.row_groups
    }
}

#[cfg(test)]
mod tests;
