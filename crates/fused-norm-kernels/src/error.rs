use core::fmt;

/// Why a problem, or the buffers given for it, is refused.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// Rows without elements.
    EmptyRow,
    /// The statistic would read no feature, or features that the row does not have.
    StatLen {
        /// Features that the statistic should read.
        stat_len: usize,
        /// Features that a row has.
        row_len: usize,
    },
    /// Epsilon is not finite, or not greater than zero.
    Epsilon(f64),
    /// The problem, or what it reads, has more elements than a buffer can hold.
    TooLarge {
        /// Rows of the problem.
        rows: usize,
        /// Features that a row has.
        row_len: usize,
    },
    /// The rows of gamma do not divide those of the problem.
    GammaRows {
        /// Rows of gamma.
        gamma_rows: usize,
        /// Rows of the problem.
        rows: usize,
    },
    /// gamma has several rows where rows lie side by side: neighbours would need different ones.
    GammaRowsSideBySide {
        /// Rows of gamma.
        gamma_rows: usize,
    },
    /// The rows of the problem are not whole groups of rows that lie side by side.
    Inner {
        /// Rows side by side.
        inner: usize,
        /// Rows of the problem.
        rows: usize,
    },
    /// A buffer has another length than the problem.
    Length {
        /// Name of the buffer.
        buffer: &'static str,
        /// Elements that the problem needs.
        expected: usize,
        /// Elements that the buffer has.
        found: usize,
    },
    /// A gradient is wanted of a parameter that is not there.
    MissingParameter(&'static str),
    /// The device cannot hold or compute in a type, or two buffers differ in theirs.
    #[cfg(feature = "cube")]
    Type {
        /// Name of the buffer.
        buffer: &'static str,
        /// Type of its elements.
        elem: cubecl::ir::ElemType,
    },
    /// The device cannot read rows at this distance as it reads rows of their length.
    #[cfg(feature = "cube")]
    Pitch {
        /// Name of the buffer.
        buffer: &'static str,
        /// Elements between the starts of neighbouring rows.
        pitch: usize,
    },
    /// y was to be written over an x that is read beside other rows.
    #[cfg(feature = "cube")]
    InPlace,
    /// A buffer starts where the device cannot bind it.
    #[cfg(feature = "cube")]
    Offset {
        /// Name of the buffer.
        buffer: &'static str,
        /// Bytes from the start of the allocation.
        offset: u64,
    },
    /// The device cannot index that many elements.
    #[cfg(feature = "cube")]
    Addresses {
        /// Elements of the largest buffer.
        elements: usize,
    },
    /// The device cannot run the routine asked for on rows of this length and type.
    #[cfg(feature = "cube")]
    Routine {
        /// The routine asked for.
        routine: crate::cube::Routine,
        /// Elements of a row.
        row_len: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::EmptyRow => write!(f, "row_len is 0, expected at least 1"),
            Self::StatLen { stat_len, row_len } => {
                write!(f, "stat_len is {stat_len}, expected 1 to row_len {row_len}")
            }
            Self::Epsilon(epsilon) => write!(
                f,
                "epsilon is {epsilon}, expected a finite number greater than 0"
            ),
            Self::TooLarge { rows, row_len } => {
                write!(
                    f,
                    "{rows} rows of {row_len} elements are more than a buffer can hold"
                )
            }
            Self::GammaRows { gamma_rows, rows } => write!(
                f,
                "gamma has {gamma_rows} rows, expected a divisor of the {rows} rows of x"
            ),
            Self::GammaRowsSideBySide { gamma_rows } => write!(
                f,
                "gamma has {gamma_rows} rows, expected 1 for rows that lie side by side"
            ),
            Self::Inner { inner, rows } => write!(
                f,
                "{inner} rows lie side by side, expected a divisor of the {rows} rows of x"
            ),
            Self::Length {
                buffer,
                expected,
                found,
            } => write!(f, "{buffer} has {found} elements, expected {expected}"),
            Self::MissingParameter(name) => {
                write!(
                    f,
                    "the gradient of {name} is wanted, but there is no {name}"
                )
            }
            #[cfg(feature = "cube")]
            Self::Type { buffer, elem } => write!(
                f,
                "{buffer} has type {elem}, which this device or the other buffers do not have"
            ),
            #[cfg(feature = "cube")]
            Self::Pitch { buffer, pitch } => {
                write!(
                    f,
                    "{buffer} has rows at a distance of {pitch} elements, expected dense rows or a multiple of the vectors they are read in"
                )
            }
            #[cfg(feature = "cube")]
            Self::InPlace => write!(
                f,
                "y in place of x is for x alone, without a residual or a gate"
            ),
            #[cfg(feature = "cube")]
            Self::Offset { buffer, offset } => {
                write!(
                    f,
                    "{buffer} starts at byte {offset}, which this device cannot bind"
                )
            }
            #[cfg(feature = "cube")]
            Self::Addresses { elements } => {
                write!(f, "{elements} elements are more than this device can index")
            }
            #[cfg(feature = "cube")]
            Self::Routine { routine, row_len } => {
                write!(
                    f,
                    "routine {routine:?} cannot take rows of {row_len} elements here"
                )
            }
        }
    }
}

impl core::error::Error for Error {}
