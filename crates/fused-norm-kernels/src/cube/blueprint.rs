//! How a problem is laid on the hardware: everything that a kernel knows when it is compiled.

/// The mapping of rows to units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Routine {
    /// Several rows a cube, each held in the registers of a plane or of a part of one.
    Plane,
    /// Rows held in the registers of units of several planes, or of units without plane operations.
    Cube,
    /// A row a cube, too long for its registers: read twice.
    Looped,
    /// A row a unit, read twice: for devices whose units are CPU threads.
    Unit,
}

impl Routine {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Plane, Self::Cube, Self::Looped, Self::Unit];
}

/// Which part of a row the statistic reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reach {
    /// All of it: RMSNorm.
    Row,
    /// Whole vectors from its start: most of pRMSNorm.
    Vectors,
    /// Whole vectors, and some elements of the next.
    Elements,
}

impl Reach {
    /// What the first `stat_len` elements of a row are, in vectors of `vector_size`.
    pub fn of(stat_len: usize, row_len: usize, vector_size: usize) -> Self {
        if stat_len == row_len {
            Self::Row
        } else if stat_len.is_multiple_of(vector_size) {
            Self::Vectors
        } else {
            Self::Elements
        }
    }
}

/// The compile-time key of a kernel, together with the types and the [`Reach`]: no
/// rows, no pitch, no epsilon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Blueprint {
    /// The mapping of rows to units.
    pub routine: Routine,
    /// Elements that one load or store moves. Divides the length of a row.
    pub vector_size: usize,
    /// Units that share a row.
    pub lanes: u32,
    /// Rows that a cube works on at a time.
    pub row_groups: u32,
    /// Lanes whose sums are exchanged by plane operations; 1 where there are none.
    pub segment: u32,
    /// Vectors of a row that a lane holds in registers, or owns; 0 where rows are streamed.
    pub vectors: u32,
    /// `lanes · vectors` vectors are exactly a row.
    pub exact: bool,
    /// Forward: gamma is loaded ahead of the sum over the lanes, and hides behind it; otherwise gamma
    /// and beta are loaded after it, a few vectors at a time. Backward: x and dy stay in registers
    /// between the two phases of a row; otherwise they are read again.
    pub held: bool,
}

impl Blueprint {
    /// Units of a cube.
    pub fn units(&self) -> u32 {
        self.lanes * self.row_groups
    }

    /// Sums that a row's lanes exchange through shared memory; 1 where plane operations suffice.
    pub fn partials(&self) -> u32 {
        self.lanes / self.segment
    }

    /// Bytes of shared memory that exchanging sums of `statistic_size` bytes takes: two halves for each of
    /// two sums, which a forward pass has at two scales, and columns of rows side by side for dgamma and
    /// dbeta.
    pub fn shared_bytes(&self, statistic_size: usize) -> usize {
        match self.partials() {
            1 => 0,
            partials => 4 * (partials * self.row_groups) as usize * statistic_size,
        }
    }

    /// Cubes that `rows` rows keep busy.
    pub fn cubes(&self, rows: usize) -> usize {
        rows.div_ceil(self.row_groups as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::Reach;

    #[test]
    fn a_statistic_ends_with_the_row_with_a_vector_or_within_one() {
        assert_eq!(Reach::of(12, 12, 4), Reach::Row);
        assert_eq!(Reach::of(8, 12, 4), Reach::Vectors);
        assert_eq!(Reach::of(7, 12, 4), Reach::Elements);
        assert_eq!(Reach::of(7, 12, 1), Reach::Vectors);
    }
}
