//! Rows that lie side by side: element j of neighbouring rows is one vector.
//!
//! A unit walks down the rows of a vector of positions, twice, and lanes next to each other read next
//! to each other. Several units share a walk, so that few positions keep a device busy.

use cubecl::prelude::*;

mod walk;

pub(in crate::cube) mod backward;
pub(in crate::cube) mod forward;
pub(in crate::cube) mod parameters;

/// Independent sums a unit, and loads that it waits for at a time.
const AT_A_TIME: usize = 4;
/// Rounds of `AT_A_TIME` elements whose sums are added up apart, so that no sum has many terms.
const ROUNDS_A_SPAN: usize = 16;

/// gamma or beta of element `element`, in the type of the statistic, or `or` where there is none.
#[cube]
fn parameter_at<P: Float, N: Size, S: Float>(
    parameter: ComptimeOption<&[P]>,
    element: usize,
    #[comptime] or: i64,
) -> Vector<S, N> {
    #[comptime]
    match parameter {
        ComptimeOption::Some(values) => Vector::new(S::cast_from(values[element])),
        ComptimeOption::None => Vector::new(S::from_int(or)),
    }
}
