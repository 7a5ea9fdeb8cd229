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
        let persistent = limits.processors.unwrap_or(PROCESSORS) * CUBES_A_PROCESSOR;
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
mod tests {
    use cubecl::ir::{AddressType, FloatKind};

    use super::super::{OperandKind, Pass, address_type, prepare};
    use super::*;

    const F32: ElemType = ElemType::Float(FloatKind::F32);

    fn gpu() -> DeviceLimits {
        DeviceLimits {
            plane_size: Some(32),
            max_units: 1024,
            max_cubes: 65_535,
            max_shared_memory: 48 * 1024,
            load_bytes: 16,
            max_vector_size: usize::MAX,
            processors: Some(132),
            threads: false,
        }
    }

    #[test]
    fn columns_are_summed_without_shared_memory_where_there_is_none() {
        let none = DeviceLimits {
            max_shared_memory: 0,
            ..gpu()
        };
        for (limits, row_groups) in [(gpu(), 8), (none, 1)] {
            let columns = Columns::of_partial_sums(4096, F32, &limits);
            assert_eq!((columns.lanes, columns.row_groups), (32, row_groups));
            assert_eq!((columns.vector_size, columns.cubes), (4, 32));
        }
    }

    #[test]
    fn partial_sums_do_not_grow_with_the_rows_and_every_row_is_walked() {
        for (routine, row_len) in [
            (Routine::Plane, 64),
            (Routine::Cube, 4096),
            (Routine::Looped, 65_536),
            (Routine::Unit, 1000),
        ] {
            let class = row_class(row_len, F32);
            let blueprint = prepare(routine, &class, Pass::Backward, &gpu()).unwrap();
            for rows in [1, 2, 255, 1000, 65_537, 1_000_000_007] {
                let problem = Problem::new(rows, row_len, row_len, 1e-5).unwrap();
                let plan = Plan::new(&problem, blueprint, Form::default(), F32, &gpu());
                let most = match routine {
                    Routine::Looped => 0,
                    Routine::Unit => (UNIT_CUBES * blueprint.units()) as usize,
                    Routine::Plane | Routine::Cube => 2 * 132,
                };
                assert!(
                    plan.partial_rows.unwrap_or(0) <= most,
                    "{routine:?} {rows}: {plan:?}"
                );
                assert!(
                    plan.cubes >= 1 && plan.cubes <= gpu().max_cubes,
                    "{rows}: {plan:?}"
                );
                assert!(
                    plan.rows_a_cube * plan.cubes as usize >= rows,
                    "{rows}: {plan:?}"
                );
                let groups = blueprint.row_groups as usize;
                assert!(plan.rows_a_cube.is_multiple_of(groups), "{rows}: {plan:?}");
            }
        }
    }

    /// What makes a partial row belong to one row of gamma.
    #[test]
    fn a_row_group_always_meets_the_same_row_of_gamma() {
        for (routine, row_len) in [
            (Routine::Plane, 64),
            (Routine::Plane, 5),
            (Routine::Cube, 1024),
            (Routine::Cube, 4096),
        ] {
            let class = row_class(row_len, F32);
            let blueprint = prepare(routine, &class, Pass::Backward, &gpu()).unwrap();
            let groups = blueprint.row_groups as usize;
            for gamma_rows in [2, 3, 8, 32, 40, 264, 265, 1001, 100_000] {
                for times in [0, 1, 2, 1000] {
                    let problem = Problem::new(times * gamma_rows, row_len, row_len, 1e-5)
                        .and_then(|problem| problem.with_gamma_rows(gamma_rows))
                        .unwrap();
                    let form = Form::of(&problem, OperandKind::None, true, F32, Pass::Backward);
                    let plan = Plan::new(&problem, blueprint, form, F32, &gpu());
                    let what = format!("{gamma_rows} of {times} {plan:?}");
                    assert!(plan.cubes <= 2 * 132, "{what}");
                    let Some(partial_rows) = plan.partial_rows else {
                        // Each of them would take more cubes than are busy at a time.
                        assert!(gamma_rows > 2 * 132, "{what}");
                        continue;
                    };
                    let walkers = plan.cubes as usize * groups;
                    assert!(walkers.is_multiple_of(gamma_rows), "{what}");
                    assert_eq!(partial_rows * gamma_rows, walkers, "{what}");
                    assert!(times == 0 || plan.cubes > 0, "{what}");
                }
            }
        }
    }

    fn threads(units: u32) -> DeviceLimits {
        DeviceLimits {
            plane_size: None,
            max_units: units,
            processors: None,
            threads: true,
            ..gpu()
        }
    }

    fn plan_of(
        routine: Routine,
        limits: &DeviceLimits,
        [rows, row_len, gamma_rows]: [usize; 3],
    ) -> (Problem, Plan) {
        let class = row_class(row_len, F32);
        let blueprint = prepare(routine, &class, Pass::Backward, limits).unwrap();
        let problem = Problem::new(rows, row_len, row_len, 1e-5)
            .and_then(|problem| problem.with_gamma_rows(gamma_rows))
            .unwrap();
        let form = Form::of(&problem, OperandKind::None, true, F32, Pass::Backward);
        let plan = Plan::new(&problem, blueprint, form, F32, limits);
        (problem, plan)
    }

    /// In 32 bits, the step from a row to the next of the same gamma would be none.
    #[test]
    fn a_step_beyond_the_last_row_does_not_wrap() {
        for routine in [Routine::Looped, Routine::Unit] {
            let rows = 1 << 29;
            let (problem, plan) = plan_of(routine, &gpu(), [rows, 1, rows]);
            assert_eq!((plan.partial_rows, plan.columns.row_groups), (None, 8));
            assert_eq!(plan.index_bound(&problem), 9 * rows);
            let address = address_type(plan.index_bound(&problem));
            assert_eq!(address, AddressType::U64, "{routine:?}");
            let (problem, plan) = plan_of(routine, &gpu(), [rows, 1, 1]);
            let address = address_type(plan.index_bound(&problem));
            assert_eq!(address, AddressType::U32, "{routine:?}");
        }
    }

    #[test]
    fn sums_of_units_are_no_larger_than_the_rows_or_a_row_a_unit() {
        for limits in [gpu(), threads(1), threads(64)] {
            for gamma_rows in [1, 7, 64, 65_536] {
                for times in [0, 1, 63, 64, 65, 16_384, 70_000] {
                    let rows = times * gamma_rows;
                    let (problem, plan) = plan_of(Routine::Unit, &limits, [rows, 64, gamma_rows]);
                    let sums = plan.partial_rows.unwrap_or(0) * problem.gamma_len();
                    let a_row_a_unit = plan.blueprint.units() as usize * problem.row_len();
                    let most = problem.elements().max(a_row_a_unit);
                    assert!(sums <= most, "{rows} {gamma_rows}: {plan:?}");
                    let walked = plan.cubes as usize * plan.rows_a_cube;
                    assert!(walked >= rows, "{rows} {gamma_rows}: {plan:?}");
                    assert!(times < 64 || plan.partial_rows.is_some(), "{plan:?}");
                }
            }
        }
    }

    /// As many terms a sum as with one row of gamma, and no more memory for the sums.
    #[test]
    fn units_sum_as_many_rows_for_every_row_of_gamma() {
        let blueprint = prepare(Routine::Unit, &row_class(128, F32), Pass::Backward, &gpu());
        let sums = |gamma_rows: usize| {
            let problem = Problem::new(1 << 22, 128, 128, 1e-5)
                .and_then(|problem| problem.with_gamma_rows(gamma_rows))
                .unwrap();
            let form = Form::of(&problem, OperandKind::None, true, F32, Pass::Backward);
            let plan = Plan::new(&problem, blueprint.unwrap(), form, F32, &gpu());
            plan.partial_rows.unwrap() * gamma_rows
        };
        assert_eq!(sums(32), sums(1));
    }
}
