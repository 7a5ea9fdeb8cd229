use crate::{Error, Problem};

/// What is done to the normalised values, in the statistic's type: nothing, a scale, or a scale and
/// a shift.
///
/// Each slice has `gamma_rows` rows of `row_len` elements, as they are stored: where the problem
/// centres gamma at zero or rounds before it, the kernels do.
#[derive(Debug, Clone, Copy)]
pub enum Affine<'a, S> {
    /// `y = x·rstd`
    None,
    /// `y = x·rstd·gamma`
    Scale {
        /// One factor a column; a [zero-centred](Problem::with_zero_centered) one is `1 + gamma`.
        gamma: &'a [S],
    },
    /// `y = x·rstd·gamma + beta`
    ScaleShift {
        /// One factor a column.
        gamma: &'a [S],
        /// One summand a column.
        beta: &'a [S],
    },
}

impl<'a, S> Affine<'a, S> {
    /// The scale, if there is one.
    pub fn gamma(&self) -> Option<&'a [S]> {
        match *self {
            Self::None => None,
            Self::Scale { gamma } | Self::ScaleShift { gamma, .. } => Some(gamma),
        }
    }

    /// The shift, if there is one.
    pub fn beta(&self) -> Option<&'a [S]> {
        match *self {
            Self::None | Self::Scale { .. } => None,
            Self::ScaleShift { beta, .. } => Some(beta),
        }
    }

    pub(super) fn check(&self, problem: &Problem) -> Result<(), Error> {
        for (buffer, parameter) in [("gamma", self.gamma()), ("beta", self.beta())] {
            if let Some(parameter) = parameter {
                check_length(buffer, problem.gamma_len(), parameter.len())?;
            }
        }
        Ok(())
    }
}

pub(super) fn check_length(
    buffer: &'static str,
    expected: usize,
    found: usize,
) -> Result<(), Error> {
    if found == expected {
        Ok(())
    } else {
        Err(Error::Length {
            buffer,
            expected,
            found,
        })
    }
}
