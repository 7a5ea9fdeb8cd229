//! What a problem makes of gamma and beta before the first row, and which row takes which of theirs.

use alloc::borrow::Cow;
use core::ops::Range;

use super::affine::Affine;
use super::{Element, Statistic};
use crate::{Error, Problem, Rounding};

/// gamma and beta as they enter the arithmetic: borrowed where that is as they are stored.
pub(super) struct Factors<'a, S: Statistic> {
    gamma: Option<Cow<'a, [S]>>,
    beta: Option<Cow<'a, [S]>>,
}

impl<'a, S: Statistic> Factors<'a, S> {
    /// For y, rounded to `T` if the problem rounds before gamma.
    pub(super) fn forward<T: Element<Statistic = S>>(
        problem: &Problem,
        affine: Affine<'a, S>,
    ) -> Result<Self, Error> {
        let mut factors = Self::backward(problem, affine)?;
        let rounds = problem.rounding() == Rounding::BeforeGamma && size_of::<T>() < size_of::<S>();
        if rounds {
            for parameter in [&mut factors.gamma, &mut factors.beta]
                .into_iter()
                .flatten()
            {
                for value in parameter.to_mut() {
                    *value = T::narrow(*value).widen();
                }
            }
        }
        Ok(factors)
    }

    /// For the gradients, and wherever nothing is rounded on the way.
    pub(super) fn backward(problem: &Problem, affine: Affine<'a, S>) -> Result<Self, Error> {
        affine.check(problem)?;
        let mut gamma = affine.gamma().map(Cow::Borrowed);
        if let Some(gamma) = gamma.as_mut().filter(|_| problem.zero_centered()) {
            for value in gamma.to_mut() {
                *value = S::ONE + *value;
            }
        }
        Ok(Self {
            gamma,
            beta: affine.beta().map(Cow::Borrowed),
        })
    }

    pub(super) fn affine(&self) -> Affine<'_, S> {
        match (self.gamma.as_deref(), self.beta.as_deref()) {
            (None, _) => Affine::None,
            (Some(gamma), None) => Affine::Scale { gamma },
            (Some(gamma), Some(beta)) => Affine::ScaleShift { gamma, beta },
        }
    }
}

/// For each row, the columns of the parameters that it takes, `row % gamma_rows` of their rows
/// without a division a row, and what stands there.
pub(super) struct GammaRows<'a, S> {
    affine: Affine<'a, S>,
    row_len: usize,
    count: usize,
    next: usize,
}

impl<'a, S> GammaRows<'a, S> {
    /// For the rows from `first` on.
    #[inline(always)]
    pub(super) fn of(affine: Affine<'a, S>, problem: &Problem, first: usize) -> Self {
        Self {
            affine,
            row_len: problem.row_len(),
            count: problem.gamma_rows(),
            next: match problem.gamma_rows() {
                1 => 0,
                count => first % count,
            },
        }
    }
}

impl<'a, S: Copy> GammaRows<'a, S> {
    /// Those of the next row.
    // No iterator: the compiler leaves the `next` of a `Zip` out of line, and compiles it for the
    // baseline instruction set.
    #[inline(always)]
    pub(super) fn take(&mut self) -> (Range<usize>, Affine<'a, S>) {
        // Nothing to find out: rows of 64 are short enough for that to count.
        if self.count == 1 {
            return (0..self.row_len, self.affine);
        }
        let columns = self.next * self.row_len..(self.next + 1) * self.row_len;
        self.next += 1;
        if self.next == self.count {
            self.next = 0;
        }
        let affine = match self.affine {
            Affine::None => Affine::None,
            Affine::Scale { gamma } => Affine::Scale {
                gamma: &gamma[columns.clone()],
            },
            Affine::ScaleShift { gamma, beta } => Affine::ScaleShift {
                gamma: &gamma[columns.clone()],
                beta: &beta[columns.clone()],
            },
        };
        (columns, affine)
    }
}
