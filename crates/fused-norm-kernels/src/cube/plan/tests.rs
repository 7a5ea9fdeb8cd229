use cubecl::ir::{AddressType, FloatKind};

use super::*;
use crate::cube::{OperandKind, Pass, address_type, prepare};

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
