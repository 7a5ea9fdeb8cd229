//! The forward pass: checks, memory, and which task computes which tiles.

use alloc::vec::Vec;

use super::Interleaved;
use super::tiles::{Grid, Share};
use crate::cpu::factors::Factors;
use crate::cpu::row::{
    Copied, Kept, Memory, Same, Streaming, columns, normalise_compactly, rstd_of_each,
};
use crate::cpu::split::{self, streams};
use crate::cpu::{Affine, Element, Normalised};
use crate::{Error, Problem};

/// [`forward`](crate::cpu::forward) of rows that lie side by side. `y` is dense,
/// `[outer, row_len, inner]` as x is; there is one rstd for each row `o·inner + i`.
///
/// # Errors
///
/// If a buffer does not fit the problem, if its rows are no whole groups of `inner`, or if gamma has
/// several rows.
///
/// ```
/// use fused_norm_kernels::{Problem, cpu};
///
/// // A tensor of shape [3, 2], normalised over its first axis: two rows of three.
/// let problem = Problem::new(2, 3, 3, 1e-9)?;
/// let x = [1.0_f64, 10.0, 2.0, 20.0, 2.0, 20.0];
/// let x = cpu::Interleaved::new(&x, 2, 6);
/// let found = cpu::interleaved_forward(&problem, x, cpu::Affine::None, true)?;
/// let rms = 3f64.sqrt();
/// for (y, expected) in found.y.iter().zip([1.0, 1.0, 2.0, 2.0, 2.0, 2.0]) {
///     assert!((y - expected / rms).abs() < 1e-9);
/// }
/// assert!((found.rstd.unwrap()[1] - 0.1 / rms).abs() < 1e-9);
/// # Ok::<(), fused_norm_kernels::Error>(())
/// ```
pub fn interleaved_forward<T: Element>(
    problem: &Problem,
    x: Interleaved<'_, T>,
    affine: Affine<'_, T::Statistic>,
    with_rstd: bool,
) -> Result<Normalised<T>, Error> {
    (T::instances().interleaved_forward)(problem, x, affine, with_rstd)
}

pub(in crate::cpu) fn forward<T: Element>(
    problem: &Problem,
    x: Interleaved<'_, T>,
    affine: Affine<'_, T::Statistic>,
    with_rstd: bool,
) -> Result<Normalised<T>, Error> {
    x.check("x", problem)?;
    let factors = Factors::forward::<T>(problem, affine)?;
    let affine = factors.affine();
    let elements = problem.elements();
    let grid = Grid::new::<T>(problem, x.inner);
    let mut y = Vec::with_capacity(elements);
    let mut rstd = with_rstd.then(|| alloc::vec![T::Statistic::default(); problem.rows()]);

    let tiles = split::forward_units(problem, grid.tiles(), grid.tile_elements());
    let mut rest = rstd.as_deref_mut().unwrap_or_default();
    let tasks = Share::cut(&mut y.spare_capacity_mut()[..elements], grid, tiles)
        .map(|y| {
            let rows = if rest.is_empty() {
                0
            } else {
                grid.rows(y.tiles())
            };
            let rstd = rest.split_off_mut(..rows).unwrap_or_default();
            Task { y, rstd }
        })
        .collect::<Vec<_>>();
    split::each(
        problem,
        tasks.into_iter(),
        #[inline(always)]
        |task| normalise_tiles(problem, grid, x, affine, task),
    );
    // The shares are all tiles, `normalise_tiles` goes through every line of each, and
    // `normalise_compactly` has every block of a line changed, of which `Copied` stores every result.
    // SAFETY: the capacity is at least `elements`, and each of them is initialised. A task that panics
    // does not get here.
    unsafe { y.set_len(elements) };
    Ok(Normalised { y, rstd })
}

struct Task<'a, T: Element> {
    y: Share<'a, T>,
    /// Empty if rstd is not wanted.
    rstd: &'a mut [T::Statistic],
}

#[inline(always)]
fn normalise_tiles<T: Element>(
    problem: &Problem,
    grid: Grid,
    x: Interleaved<'_, T>,
    affine: Affine<'_, T::Statistic>,
    task: Task<'_, T>,
) {
    let Task { mut y, mut rstd } = task;
    let stream = Streaming::when(streams::<T>(problem) && x.has_whole_lines());
    let mut kept = Kept::new(problem.stat_len(), grid.width());
    for index in y.tiles() {
        let tile = grid.tile(index);
        let line = |j| x.line(tile, j);
        let each = rstd_of_each::<T>(line, &mut kept, problem.stat_len(), problem.epsilon());
        let (gamma, beta) = columns(affine);
        let mut y = y.tile(index);
        for j in 0..problem.row_len() {
            let row = Copied {
                from: match j < problem.stat_len() {
                    true => kept.line(j, tile.width),
                    false => line(j),
                },
                to: Memory::new(y.line(j), stream.as_ref()),
            };
            let (gamma, beta) = (Same(gamma.at(j)), Same(beta.at(j)));
            let rounding = problem.rounding();
            normalise_compactly::<T>(row, tile.width, &each, gamma, beta, rounding);
        }
        if let Some(slots) = rstd.split_off_mut(..tile.width) {
            for (row, slot) in slots.iter_mut().enumerate() {
                *slot = each.get(row);
            }
        }
    }
}
