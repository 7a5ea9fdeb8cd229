//! The planner, on tables of problems and devices: every blueprint fits its device, covers its rows,
//! and depends on nothing that changes from batch to batch.
#![cfg(feature = "cube")]

mod tables;

use cubecl::ir::{AddressType, ElemType, FloatKind};
use fused_norm_kernels::cube::{
    Blueprint, DeviceLimits, Pass, Routine, RowClass, address_type, prepare, row_class, select,
};
use tables::{classes, devices, gpu, threads};

fn assert_fits(blueprint: &Blueprint, class: &RowClass, pass: Pass, limits: &DeviceLimits) {
    let what = format!("{blueprint:?} for {class:?} {pass:?} on {limits:?}");
    let units = blueprint.units();
    assert!(units >= 1 && units <= limits.max_units, "units: {what}");
    let size = blueprint.vector_size;
    assert!(
        size.is_power_of_two() && class.row_len.is_multiple_of(size),
        "vectors: {what}"
    );
    assert!(
        size * class.element_size <= limits.load_bytes.max(class.element_size),
        "load: {what}"
    );
    assert!(size <= limits.max_vector_size, "vector size: {what}");
    assert!(
        blueprint.lanes.is_multiple_of(blueprint.segment),
        "segments: {what}"
    );
    if blueprint.segment > 1 {
        assert!(blueprint.segment.is_power_of_two(), "shuffles: {what}");
        assert!(
            limits
                .plane_size
                .is_some_and(|size| blueprint.segment <= size),
            "planes: {what}"
        );
        assert_eq!(class.statistic_size, 4, "shuffles move 32 bits: {what}");
    }
    let row_vectors = class.row_len / size;
    if blueprint.vectors > 0 {
        let covered = (blueprint.lanes * blueprint.vectors) as usize;
        assert!(covered >= row_vectors, "columns: {what}");
        assert_eq!(blueprint.exact, covered == row_vectors, "exact: {what}");
        let idle = covered - row_vectors;
        assert!(
            idle < blueprint.lanes as usize,
            "more than a step is idle: {what}"
        );
    }
    // Where planes cannot add up a row: two halves for each of two sums.
    let mut shared = match blueprint.lanes / blueprint.segment {
        1 => 0,
        partials => 4 * (partials * blueprint.row_groups) as usize * class.statistic_size,
    };
    if pass == Pass::Backward && blueprint.vectors > 0 && blueprint.row_groups > 1 {
        shared += 2 * units as usize * size * class.statistic_size;
    }
    assert!(shared <= limits.max_shared_memory, "shared memory: {what}");
}

#[test]
fn every_blueprint_fits_its_device() {
    for limits in devices()
        .into_iter()
        .chain([threads(1), threads(2), threads(96)])
    {
        for class in classes() {
            for pass in [Pass::Forward, Pass::Backward] {
                assert_fits(&select(&class, pass, &limits), &class, pass, &limits);
                for routine in Routine::ALL {
                    if let Some(blueprint) = prepare(routine, &class, pass, &limits) {
                        assert_eq!(blueprint.routine, routine);
                        assert_fits(&blueprint, &class, pass, &limits);
                    }
                }
            }
        }
    }
}

/// As many vectors as 32 bits cannot count, or count as none.
#[test]
fn rows_of_any_length_have_a_blueprint() {
    let all = devices()
        .into_iter()
        .chain([threads(1), threads(2), threads(96)]);
    for limits in all {
        for row_len in [1 << 31, 1 << 32, (1 << 32) + 1, 3 << 38, 1 << 40, 1 << 60] {
            for kind in [FloatKind::F64, FloatKind::F32, FloatKind::BF16] {
                let class = row_class(row_len, ElemType::Float(kind));
                for (class, pass) in [
                    (class, Pass::Forward),
                    (class.with_inputs(2), Pass::Forward),
                    (class, Pass::Backward),
                ] {
                    assert_fits(&select(&class, pass, &limits), &class, pass, &limits);
                    for routine in [Routine::Plane, Routine::Cube] {
                        assert_eq!(prepare(routine, &class, pass, &limits), None);
                    }
                }
            }
        }
    }
}

#[test]
fn the_routine_follows_the_row_on_a_gpu_with_planes_of_32() {
    use Routine::{Cube, Looped, Plane};
    let table = [
        // row_len, type, forward, backward
        (64, FloatKind::F32, Plane, Plane),
        (64, FloatKind::BF16, Plane, Plane),
        (128, FloatKind::F32, Plane, Plane),
        (512, FloatKind::F32, Plane, Plane),
        (1024, FloatKind::F32, Plane, Cube),
        (1024, FloatKind::BF16, Plane, Cube),
        (2048, FloatKind::F32, Cube, Cube),
        (4096, FloatKind::F32, Cube, Cube),
        (8192, FloatKind::BF16, Cube, Cube),
        (16_384, FloatKind::F32, Cube, Cube),
        (16_384, FloatKind::BF16, Cube, Cube),
        (32_768, FloatKind::F32, Looped, Looped),
        (32_768, FloatKind::BF16, Cube, Looped),
        (65_536, FloatKind::BF16, Looped, Looped),
        (262_144, FloatKind::F32, Looped, Looped),
        (1 << 20, FloatKind::F32, Looped, Looped),
    ];
    for (row_len, kind, forward, backward) in table {
        let class = row_class(row_len, ElemType::Float(kind));
        let routine = |pass| select(&class, pass, &gpu()).routine;
        assert_eq!(
            routine(Pass::Forward),
            forward,
            "{row_len} {kind:?} forward"
        );
        assert_eq!(
            routine(Pass::Backward),
            backward,
            "{row_len} {kind:?} backward"
        );
    }
}

/// What registers hold is shared by two rows: longer ones change to the next routine at half the length.
#[test]
fn rows_beside_x_take_their_share_of_the_registers() {
    use Routine::{Cube, Looped, Plane};
    let table = [
        // row_len, type, forward, backward
        (64, FloatKind::F32, Plane, Plane),
        (64, FloatKind::BF16, Plane, Plane),
        (128, FloatKind::F32, Plane, Plane),
        (512, FloatKind::F32, Plane, Cube),
        (1024, FloatKind::F32, Cube, Cube),
        (1024, FloatKind::BF16, Cube, Cube),
        (4096, FloatKind::F32, Cube, Cube),
        (8192, FloatKind::BF16, Cube, Cube),
        (16_384, FloatKind::F32, Looped, Looped),
        (16_384, FloatKind::BF16, Cube, Looped),
        (32_768, FloatKind::BF16, Looped, Looped),
    ];
    for (row_len, kind, forward, backward) in table {
        let class = row_class(row_len, ElemType::Float(kind)).with_inputs(2);
        for (pass, routine) in [(Pass::Forward, forward), (Pass::Backward, backward)] {
            let blueprint = select(&class, pass, &gpu());
            assert_eq!(blueprint.routine, routine, "{row_len} {kind:?} {pass:?}");
            let held = (blueprint.vectors as usize * blueprint.vector_size).max(1);
            let alone = select(&class.with_inputs(1), pass, &gpu());
            if alone.vectors > 0 {
                let most = alone.vectors as usize * alone.vector_size;
                assert!(held <= most, "{row_len} {kind:?} {pass:?}: {blueprint:?}");
            }
        }
    }
}

#[test]
fn devices_choose_what_they_can_run() {
    let class = row_class(64, ElemType::Float(FloatKind::F32));
    let no_planes = DeviceLimits {
        plane_size: None,
        ..gpu()
    };
    let blueprint = select(&class, Pass::Forward, &no_planes);
    assert_eq!((blueprint.routine, blueprint.segment), (Routine::Cube, 1));
    assert_eq!(
        blueprint.row_groups * blueprint.lanes,
        128,
        "short rows share a cube"
    );
    assert_eq!(
        select(&class, Pass::Forward, &threads(2)).routine,
        Routine::Unit
    );
    assert_eq!(
        prepare(Routine::Plane, &class, Pass::Forward, &no_planes),
        None
    );
}

#[test]
fn rows_keep_16_byte_loads_where_their_length_allows() {
    for (row_len, kind, size) in [
        (4096, FloatKind::F32, 4),
        (4096, FloatKind::BF16, 8),
        (4096, FloatKind::F64, 2),
        (4098, FloatKind::F32, 2),
        (4100, FloatKind::F16, 4),
        (4097, FloatKind::F16, 1),
    ] {
        let class = row_class(row_len, ElemType::Float(kind));
        assert_eq!(class.vector_size(&gpu()), size, "{row_len} {kind:?}");
    }
    let wgsl = DeviceLimits {
        max_vector_size: 4,
        ..gpu()
    };
    let class = row_class(4096, ElemType::Float(FloatKind::F16));
    assert_eq!(class.vector_size(&wgsl), 4, "WGSL has no vectors of 8");
}

#[test]
fn buffers_past_31_bits_are_indexed_with_64() {
    assert_eq!(address_type((1 << 31) - 1), AddressType::U32);
    assert_eq!(address_type((1 << 31) + 1), AddressType::U64);
    assert_eq!(address_type(1 << 33), AddressType::U64);
}
