//! The backward pass: checks, memory, and which task computes which tiles.

use alloc::vec::Vec;

use super::Interleaved;
use super::tiles::{Grid, Share, Tile, TileMemory};
use crate::cpu::affine::check_length;
use crate::cpu::backward::{Gradients, Wanted, check_saved};
use crate::cpu::row::{
    Copied, EachRow, Kept, Memory, Same, Streaming, accumulate_each, columns, correlate_each,
    input_gradient,
};
use crate::cpu::split::{self, streams};
use crate::cpu::sums::{Sums, TaskSums};
use crate::cpu::{Affine, Element};
use crate::{Error, Problem};

/// [`backward`](crate::cpu::backward) of rows that lie side by side. dx is dense,
/// `[outer, row_len, inner]` as x is; rstd has one value for each row `o·inner + i`.
///
/// # Errors
///
/// If a buffer does not fit the problem, if its rows are no whole groups of `inner`, if dy and x differ
/// in how many rows lie side by side, if gamma has several rows, or if dgamma is wanted without gamma.
///
/// ```
/// use fused_norm_kernels::{Problem, cpu};
///
/// let problem = Problem::new(2, 3, 3, 1e-9)?;
/// let (x, dy) = ([1.0_f64, 10.0, 2.0, 20.0, 2.0, 20.0], [1.0; 6]);
/// let (x, dy) = (cpu::Interleaved::new(&x, 2, 6), cpu::Interleaved::new(&dy, 2, 6));
/// let rstd = cpu::interleaved_forward(&problem, x, cpu::Affine::None, true)?.rstd.unwrap();
/// let wanted = cpu::Wanted { dx: true, dgamma: false, dbeta: true };
/// let found = cpu::interleaved_backward(&problem, dy, x, &rstd, None, wanted)?;
/// assert_eq!(found.dbeta.unwrap(), [2.0; 3]);
/// // What does not change y has no gradient: dx is at right angles to x.
/// let dx = found.dx.unwrap();
/// assert!((dx[0] * 1.0 + dx[2] * 2.0 + dx[4] * 2.0).abs() < 1e-9);
/// # Ok::<(), fused_norm_kernels::Error>(())
/// ```
pub fn interleaved_backward<T: Element>(
    problem: &Problem,
    dy: Interleaved<'_, T>,
    x: Interleaved<'_, T>,
    rstd: &[T::Statistic],
    gamma: Option<&[T::Statistic]>,
    wanted: Wanted,
) -> Result<Gradients<T>, Error> {
    (T::instances().interleaved_backward)(problem, dy, x, rstd, gamma, wanted)
}

pub(in crate::cpu) fn backward<T: Element>(
    problem: &Problem,
    dy: Interleaved<'_, T>,
    x: Interleaved<'_, T>,
    rstd: &[T::Statistic],
    gamma: Option<&[T::Statistic]>,
    wanted: Wanted,
) -> Result<Gradients<T>, Error> {
    x.check("x", problem)?;
    check_length("the inner axis of dy", x.inner, dy.inner)?;
    dy.check("dy", problem)?;
    let factors = check_saved::<T>(problem, rstd, gamma, wanted)?;
    let elements = problem.elements();
    let grid = Grid::new::<T>(problem, x.inner);
    let saved = Saved {
        grid,
        dy,
        x,
        rstd,
        affine: factors.affine(),
        wanted,
    };
    let tiles = split::backward_units(problem, grid.tiles(), 1);
    let mut dx = Vec::with_capacity(if wanted.dx { elements } else { 0 });
    let tasks: Vec<_> = if wanted.dx {
        Share::cut(&mut dx.spare_capacity_mut()[..elements], grid, tiles)
            .map(Task::Gradients)
            .collect()
    } else {
        let runs = (0..grid.tiles()).step_by(tiles);
        runs.map(|first| Task::Sums(first, grid.tiles().min(first + tiles)))
            .collect()
    };
    let mut sums = Sums::zeros(problem, wanted.dgamma, wanted.dbeta);
    split::run(
        problem,
        tasks.into_iter(),
        #[inline(always)]
        |task| gradient_tiles(problem, &saved, task),
        |partial| sums.add(&partial),
    );
    if wanted.dx {
        // The shares are all tiles, `gradient_tiles` goes through every line of each, and
        // `input_gradient` has every block of a line changed, of which `Copied` stores every result.
        // SAFETY: the capacity is at least `elements`, and each of them is initialised. A task that
        // panics does not get here.
        unsafe { dx.set_len(elements) };
    }
    Ok(Gradients {
        dx: wanted.dx.then_some(dx),
        dgamma: wanted.dgamma.then_some(sums.dgamma),
        dbeta: wanted.dbeta.then_some(sums.dbeta),
    })
}

/// What a backward pass reads.
struct Saved<'a, T: Element> {
    grid: Grid,
    dy: Interleaved<'a, T>,
    x: Interleaved<'a, T>,
    rstd: &'a [T::Statistic],
    affine: Affine<'a, T::Statistic>,
    wanted: Wanted,
}

enum Task<'a, T> {
    /// dx is wanted.
    Gradients(Share<'a, T>),
    /// It is not, of the tiles from one to another.
    Sums(usize, usize),
}

/// The partial sums of the task's tiles.
#[inline(always)]
fn gradient_tiles<T: Element>(
    problem: &Problem,
    saved: &Saved<'_, T>,
    mut task: Task<'_, T>,
) -> Sums<T::Statistic> {
    let wanted = saved.wanted;
    let stream = Streaming::when(streams::<T>(problem) && saved.x.has_whole_lines());
    let mut running = TaskSums::zeros(problem, wanted.dgamma, wanted.dbeta, 1);
    let tiles = match &task {
        Task::Gradients(dx) => dx.tiles(),
        Task::Sums(first, end) => *first..*end,
    };
    let lines = if wanted.dx || wanted.dgamma {
        problem.row_len()
    } else {
        0
    };
    let mut kept = [(); 2].map(|()| Kept::new(lines, saved.grid.width()));
    for index in tiles {
        running.begin();
        let tile = saved.grid.tile(index);
        let dx = match &mut task {
            Task::Gradients(dx) => Some(&mut *dx),
            Task::Sums(..) => None,
        };
        gradient_tile(
            problem,
            saved,
            tile,
            &mut kept,
            &mut running.sums,
            dx.map(|dx| (dx.tile(index), stream.as_ref())),
        );
    }
    running.finish()
}

/// `dx` is where dx goes, and whether past the caches.
#[inline(always)]
fn gradient_tile<T: Element>(
    problem: &Problem,
    saved: &Saved<'_, T>,
    tile: Tile,
    kept: &mut [Kept<T>; 2],
    sums: &mut Sums<T::Statistic>,
    dx: Option<(TileMemory<'_, T>, Option<&Streaming>)>,
) {
    let (row_len, k, wanted) = (problem.row_len(), problem.stat_len(), saved.wanted);
    let dy = |j| saved.dy.line(tile, j);
    let x = |j| saved.x.line(tile, j);
    if dx.is_none() && !wanted.dgamma {
        return accumulate_each::<T>(dy, &mut sums.dbeta);
    }
    let rows = &saved.rstd[saved.grid.row(tile)..][..tile.width];
    let rstd = EachRow::from_fn(tile.width, |row| rows[row]);
    let (gamma, _) = columns(saved.affine);
    let sum = correlate_each::<T>(
        dy,
        x,
        kept,
        &rstd,
        row_len,
        #[inline(always)]
        |j| gamma.at(j),
        [
            wanted.dgamma.then_some(&mut sums.dgamma[..]),
            wanted.dbeta.then_some(&mut sums.dbeta[..]),
        ],
    );
    let Some((mut dx, stream)) = dx else {
        return;
    };
    let mean = EachRow::from_fn(tile.width, |row| {
        T::Statistic::from_f64(sum.get(row) / k as f64)
    });
    let [dy, x] = kept;
    for j in 0..row_len {
        let row = Copied {
            from: dy.line(j, tile.width),
            to: Memory::new(dx.line(j), stream),
        };
        // The first lines have the features that the statistic reads.
        let in_statistic = if j < k { tile.width } else { 0 };
        let x = x.line(j, tile.width);
        input_gradient::<T>(row, x, &rstd, Same(gamma.at(j)), &mean, in_statistic);
    }
}
