//! The routines: each maps a class of rows to a device, or says that it cannot.

mod looped;
mod resident;
mod unit;

use super::{Blueprint, DeviceLimits, Routine, RowClass};

/// Forward or backward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pass {
    /// x to y.
    Forward,
    /// x and dy to the gradients.
    Backward,
}

/// The blueprint of a routine for a class of rows, or `None` where it cannot run.
pub fn prepare(
    routine: Routine,
    class: &RowClass,
    pass: Pass,
    limits: &DeviceLimits,
) -> Option<Blueprint> {
    match routine {
        Routine::Plane => resident::plane(class, pass, limits),
        Routine::Cube => resident::cube(class, pass, limits),
        Routine::Looped => looped::prepare(class, limits),
        Routine::Unit => Some(unit::prepare(class, limits)),
    }
}
