//! In which ways is a known-wrong implementation wrong, and which property must say so?

macro_rules! faults {
    ($($property:literal { $(#[doc = $doc:literal] $fault:ident,)* })*) => {
        /// One mistake, made by [`Scalar`](super::Scalar) at the place where it would be made.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Fault {
            $($(#[doc = $doc] $fault,)*)*
        }

        impl Fault {
            /// Every mistake.
            pub const ALL: &[Fault] = &[$($(Fault::$fault,)*)*];

            /// Name of the property that must reject it.
            pub fn rejected_by(self) -> &'static str {
                match self {
                    $($(Fault::$fault)|* => $property,)*
                }
            }
        }
    };
}

faults! {
    "forward values" {
        /// `1 / (sqrt(ms) + epsilon)`.
        EpsilonOutsideRoot,
        /// Epsilon is left out.
        EpsilonIgnored,
        /// Epsilon grows with the largest square of the row, as when x is rescaled and epsilon is not.
        EpsilonRescaled,
        /// The statistic of 16-bit rows is accumulated in their own kind.
        StatisticInHalf,
        /// The squares of 16-bit rows are rounded to their own kind.
        SquaresInHalf,
        /// The statistic reads the whole row.
        StatisticOverRow,
        /// `k = floor(n * p)`.
        StatLenFloor,
        /// f64 rows are computed in f32.
        DoubleInSingle,
        /// The root mean square is rounded to the kind of x before the division.
        RootMeanSquareRounded,
        /// `x * rstd` is rounded to the kind of x before it meets gamma.
        CastThenMultiply,
        /// Beta is scaled by gamma.
        BetaScaled,
        /// The columns beyond the last whole vector of 8 are copied unnormalised.
        TailSkipped,
        /// A transposed x is read as if it were dense.
        StridesIgnored,
        /// Odd rows use the statistic of the row before.
        RowsMixed,
        /// The last two axes are normalised together when there are three or more.
        LastTwoAxes,
        /// A row of zeros becomes NaN.
        ZeroRowNan,
        /// Another axis than the last is asked for, and the last is normalised.
        LastAxis,
        /// The gate is on the other side of the normalisation.
        GateOrdersSwapped,
        /// The gate goes through a sigmoid only.
        SigmoidGate,
        /// A transposed residual or gate is read as if it were dense.
        SecondStridesIgnored,
        /// `1 + gamma` is formed in the kind of x.
        CentredInHalf,
        /// The factor is gamma where it should be `1 + gamma`.
        ZeroCenteredIgnored,
        /// One rounding at the store where rounding before gamma is asked for.
        RoundsOnce,
        /// The statistic reads the whole axis instead of the group.
        StatisticOverAxis,
        /// Every row takes the first row of gamma.
        FirstGammaRow,
        /// The sum is rounded before the statistic and the normalisation read it.
        StatisticOfRoundedSum,
    }
    "sum values" {
        /// The updated residual stream is not returned.
        SumMissing,
    }
    "dx values" {
        /// `c` runs over the first k columns only.
        CorrectionOverPrefix,
        /// The correction is applied to every column.
        CorrectionBeyondPrefix,
        /// There is no correction.
        CorrectionDropped,
        /// The correction is divided by n instead of k.
        CorrectionOverRowLen,
        /// The correction is added instead of subtracted.
        CorrectionSign,
        /// The correction holds the cube of rstd as one number.
        RstdCubed,
        /// Gamma is left out of dx.
        GammaIgnoredInDx,
        /// A gate before the norm is left out of dx.
        GateIgnoredInDx,
        /// The backward pass reads x instead of the sum.
        BackwardReadsX,
        /// The gradient that flows into the sum from elsewhere is dropped.
        SumGradientDropped,
    }
    "dsecond values" {
        /// The derivative of silu is taken to be the sigmoid.
        SlopeIsSigmoid,
        /// The gradient of a gate after the norm reads rows without beta.
        GateGradientWithoutBeta,
        /// The residual gets no gradient.
        ResidualGradientDropped,
    }
    "dgamma values" {
        /// `x * rstd` is recovered as `y / gamma` in dgamma.
        DividesByGamma,
        /// rstd is left out of dgamma.
        DgammaWithoutRstd,
        /// dgamma and dbeta are accumulated in the kind of x.
        DgammaInHalf,
        /// The last rows, when they do not fill a group of 4, are missing in dgamma and dbeta.
        LastPartialDropped,
        /// dgamma and dbeta are NaN when there are no rows.
        EmptyUninitialised,
        /// Every row of dgamma is the sum of all.
        DgammaOverGroups,
    }
    "dbeta values" {
        /// dbeta is multiplied by gamma.
        DbetaScaled,
        /// A gate after the norm is left out of dbeta.
        GateIgnoredInDbeta,
    }
    "output types" {
        /// The output has the kind of gamma.
        OutputInGammaKind,
        /// The sum is not rounded to its kind.
        SumUnrounded,
    }
    "gradients exactly for tracked inputs" {
        /// There is no gradient of x at all.
        Detached,
        /// Every gradient is computed, tracked or not.
        NeedlessGradient,
        /// dgamma exists only when x is tracked.
        DgammaNeedsX,
        /// The gate gets no gradient.
        GateGradientMissing,
    }
    "inputs unchanged" {
        /// x is overwritten with y.
        OverwritesInput,
    }
    "inference equals training" {
        /// Inference rounds the reciprocal statistic of f32 and wider rows to bf16.
        InferenceCoarser,
    }
    "deterministic" {
        /// The order of the sum of squares changes from call to call.
        OrderByCall,
    }
    "no memory of earlier calls" {
        /// Epsilon of the first call on a shape is kept for later calls.
        EpsilonStale,
        /// dgamma and dbeta go on from what the call before left.
        AccumulatorsKept,
    }
    "batch invariance" {
        /// The order of the sum of squares depends on the number of rows.
        OrderByBatch,
    }
    "rank invariance" {
        /// The order of the sum of squares depends on the number of axes.
        OrderByRank,
    }
    "whole partial equals none" {
        /// The order of the sum of squares depends on whether there is a p.
        OrderByPartial,
    }
    "scale invariance" {
        /// Epsilon is raised to at least 1e-6.
        EpsilonClamped,
    }
    "prefix independence" {
        /// Columns beyond k are multiplied by zero instead of being left out of the statistic.
        PrefixMasked,
    }
    "rows are independent" {
        /// A row whose statistic is NaN makes the next row NaN.
        NanLeaks,
    }
}
