//! Which rows are worked on together, and where their results go.
//!
//! A *tile* is a number of neighbouring rows of one group, a *line* of it the elements with one index:
//! they are neighbours in memory. All rows of a tile are normalised at once, line by line.

use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ops::Range;

use crate::Problem;
use crate::cpu::row::{BLOCK, TILE};

/// Bytes of a tile, where its lines need not be shorter than [`SHORT_LINE`] for that: what is read for
/// the statistic is read again for the result, and should still be near.
const TILE_BYTES: usize = 256 * 1024;

/// Rows of a tile at least, if there are as many.
const SHORT_LINE: usize = 2 * BLOCK;

/// How the rows of a problem are cut.
#[derive(Clone, Copy)]
pub(super) struct Grid {
    inner: usize,
    row_len: usize,
    width: usize,
    tiles_a_group: usize,
    tiles: usize,
}

/// Some neighbouring rows.
#[derive(Clone, Copy)]
pub(super) struct Tile {
    /// Which group of rows.
    pub group: usize,
    /// The first of the rows, within the group.
    pub first: usize,
    /// How many rows.
    pub width: usize,
}

impl Grid {
    /// A function of the problem and its layout alone, so that no result depends on the threads.
    pub(super) fn new<T>(problem: &Problem, inner: usize) -> Self {
        let fitting = TILE_BYTES / size_of::<T>() / problem.row_len();
        let width = (fitting / BLOCK * BLOCK).clamp(SHORT_LINE, TILE);
        let tiles_a_group = inner.div_ceil(width);
        let groups = problem.rows().checked_div(inner).unwrap_or(0);
        Self {
            inner,
            row_len: problem.row_len(),
            width,
            tiles_a_group,
            tiles: groups * tiles_a_group,
        }
    }

    pub(super) fn tiles(&self) -> usize {
        self.tiles
    }

    /// Rows of a tile at most.
    pub(super) fn width(&self) -> usize {
        self.width.min(self.inner)
    }

    /// Elements of a tile at most.
    pub(super) fn tile_elements(&self) -> usize {
        self.width() * self.row_len
    }

    pub(super) fn tile(&self, index: usize) -> Tile {
        let first = index % self.tiles_a_group * self.width;
        Tile {
            group: index / self.tiles_a_group,
            first,
            width: self.width.min(self.inner - first),
        }
    }

    /// Rows of a run of tiles.
    pub(super) fn rows(&self, tiles: Range<usize>) -> usize {
        tiles.map(|index| self.tile(index).width).sum()
    }

    /// The first row of a tile, counted through all groups.
    pub(super) fn row(&self, tile: Tile) -> usize {
        tile.group * self.inner + tile.first
    }
}

/// A run of tiles, and the part of a new activation, dense, that belongs to it.
pub(super) struct Share<'a, T> {
    grid: Grid,
    tiles: Range<usize>,
    start: *mut MaybeUninit<T>,
    memory: PhantomData<&'a mut [MaybeUninit<T>]>,
}

// SAFETY: a share is an exclusive borrow of the elements of its own tiles, which no other share of the
// same memory has (see `cut`), as a slice would be if they were neighbours.
unsafe impl<T: Send> Send for Share<'_, T> {}

impl<'a, T> Share<'a, T> {
    /// Runs of `tiles` tiles each, all of `memory` together.
    pub(super) fn cut(
        memory: &'a mut [MaybeUninit<T>],
        grid: Grid,
        tiles: usize,
    ) -> impl Iterator<Item = Self> {
        let groups = grid.tiles.checked_div(grid.tiles_a_group).unwrap_or(0);
        assert_eq!(memory.len(), groups * grid.row_len * grid.inner);
        let start = memory.as_mut_ptr();
        // The runs do not overlap, so no tile is in two shares.
        (0..grid.tiles).step_by(tiles).map(move |first| Self {
            grid,
            tiles: first..grid.tiles.min(first + tiles),
            start,
            memory: PhantomData,
        })
    }

    pub(super) fn tiles(&self) -> Range<usize> {
        self.tiles.clone()
    }

    /// The part of one of this run's tiles.
    #[inline(always)]
    pub(super) fn tile(&mut self, index: usize) -> TileMemory<'_, T> {
        assert!(self.tiles.contains(&index));
        let Grid { row_len, inner, .. } = self.grid;
        let tile = self.grid.tile(index);
        TileMemory {
            // SAFETY: the tile is one of the grid's, so its first element lies within the memory, whose
            // length `cut` has checked.
            start: unsafe { self.start.add(tile.group * row_len * inner + tile.first) },
            width: tile.width,
            lines: row_len,
            step: inner,
            memory: PhantomData,
        }
    }
}

/// The part of a new activation that belongs to one tile.
pub(super) struct TileMemory<'a, T> {
    start: *mut MaybeUninit<T>,
    width: usize,
    lines: usize,
    step: usize,
    memory: PhantomData<&'a mut [MaybeUninit<T>]>,
}

impl<T> TileMemory<'_, T> {
    /// The elements j of the tile's rows.
    #[inline(always)]
    pub(super) fn line(&mut self, j: usize) -> &mut [MaybeUninit<T>] {
        assert!(j < self.lines);
        // SAFETY: `Share::tile` has made it of a tile of the grid, all of whose lines lie within the
        // memory; no two have an element in common, no other share has this tile, and the line borrows
        // this exclusive borrow of the share.
        unsafe { core::slice::from_raw_parts_mut(self.start.add(j * self.step), self.width) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn shares_cover_the_memory_once() {
        for (groups, row_len, inner) in [
            (1, 1, 1),
            (3, 5, 1),
            (2, 3, 70),
            (1, 4, 300),
            (2, 4096, 130),
        ] {
            let problem = Problem::new(groups * inner, row_len, row_len, 1e-5).unwrap();
            let grid = Grid::new::<f32>(&problem, inner);
            for tiles in [1, 2, 5] {
                let mut memory = Vec::<u32>::with_capacity(groups * row_len * inner);
                let spare = &mut memory.spare_capacity_mut()[..groups * row_len * inner];
                for slot in spare.iter_mut() {
                    slot.write(0);
                }
                let mut rows = 0;
                for mut share in Share::cut(spare, grid, tiles) {
                    for index in share.tiles() {
                        let tile = grid.tile(index);
                        assert_eq!(grid.row(tile), rows);
                        rows += tile.width;
                        let mut lines = share.tile(index);
                        for j in 0..row_len {
                            for slot in lines.line(j) {
                                // SAFETY: every element has been written above.
                                let seen = unsafe { slot.assume_init() };
                                slot.write(seen + 1);
                            }
                        }
                    }
                }
                assert_eq!(rows, groups * inner);
                // SAFETY: every element has been written above.
                unsafe { memory.set_len(groups * row_len * inner) };
                assert!(memory.iter().all(|&seen| seen == 1));
            }
        }
    }

    #[test]
    #[should_panic(expected = "contains")]
    fn a_share_has_its_own_tiles_only() {
        let problem = Problem::new(1000, 2, 2, 1e-5).unwrap();
        let grid = Grid::new::<f32>(&problem, 1000);
        let mut memory = Vec::<f32>::with_capacity(2000);
        let mut shares = Share::cut(&mut memory.spare_capacity_mut()[..2000], grid, 1);
        shares.next().unwrap().tile(1);
    }
}
