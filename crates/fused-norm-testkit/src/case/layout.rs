//! Which arrangements in memory must give the same results?

use super::view::ViewStep;

/// How a tensor of rows is stored. The logical values do not depend on it, except where an
/// arrangement shows one element several times: those say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Row-major, nothing between the rows.
    Dense,
    /// Stored with the last two axes exchanged. Rank 2 or more.
    Transposed,
    /// Stored with all axes in reverse order. Rank 2 or more.
    Permuted,
    /// A slice of a last axis that is 5 longer, from index 3 on: an odd pitch and offset.
    NarrowedLast,
    /// The middle third of a last axis three times as long, as in a joint projection of queries,
    /// keys and values.
    MiddleThird,
    /// A slice of a first axis that is 3 longer, from index 2 on. Rank 2 or more.
    NarrowedFirst,
    /// Every second element of a last axis twice as long.
    Step2,
    /// Stored with the last axis reversed.
    Flipped,
    /// Repeated along the first axis: all slices along it are equal. Rank 2 or more.
    BroadcastRows,
    /// One element repeated everywhere, as the gradient of a sum is.
    BroadcastAll,
    /// Windows of a longer last axis, `step` apart: element `[.., w, i]` is element
    /// `[.., w * step + i]` of the base. Rank 2 or more; for x only.
    Unfolded {
        /// Distance between the starts of neighbouring windows; they overlap where it is smaller
        /// than the row.
        step: usize,
    },
}

impl Layout {
    /// Short name without spaces.
    pub fn name(self) -> String {
        match self {
            Self::Dense => "dense".into(),
            Self::Transposed => "transposed".into(),
            Self::Permuted => "permuted".into(),
            Self::NarrowedLast => "narrowed_last".into(),
            Self::MiddleThird => "middle_third".into(),
            Self::NarrowedFirst => "narrowed_first".into(),
            Self::Step2 => "step2".into(),
            Self::Flipped => "flipped".into(),
            Self::BroadcastRows => "broadcast_rows".into(),
            Self::BroadcastAll => "broadcast_all".into(),
            Self::Unfolded { step } => format!("unfolded{step}"),
        }
    }

    /// Does the view show some element of its base more than once?
    pub fn repeats(self) -> bool {
        matches!(
            self,
            Self::BroadcastRows | Self::BroadcastAll | Self::Unfolded { .. }
        )
    }

    /// The shape of the base of a view of the given shape, and the steps that make the view.
    pub(crate) fn plan(self, shape: &[usize]) -> (Vec<usize>, Vec<ViewStep>) {
        let rank = shape.len();
        let last = rank - 1;
        let mut base = shape.to_vec();
        let step = match self {
            Self::Dense => return (base, vec![]),
            Self::Transposed => {
                base.swap(last - 1, last);
                ViewStep::SwapDims(last - 1, last)
            }
            Self::Permuted => {
                base.reverse();
                ViewStep::Permute((0..rank).rev().collect())
            }
            Self::NarrowedLast => {
                base[last] += 5;
                ViewStep::Narrow {
                    dim: last,
                    start: 3,
                    len: shape[last],
                }
            }
            Self::MiddleThird => {
                base[last] *= 3;
                ViewStep::Narrow {
                    dim: last,
                    start: shape[last],
                    len: shape[last],
                }
            }
            Self::NarrowedFirst => {
                assert!(rank >= 2);
                base[0] += 3;
                ViewStep::Narrow {
                    dim: 0,
                    start: 2,
                    len: shape[0],
                }
            }
            Self::Step2 => {
                base[last] *= 2;
                ViewStep::Step { dim: last, step: 2 }
            }
            Self::Flipped => ViewStep::Flip(last),
            Self::BroadcastRows => {
                assert!(rank >= 2);
                base[0] = 1;
                ViewStep::Expand(shape.to_vec())
            }
            Self::BroadcastAll => {
                base.fill(1);
                ViewStep::Expand(shape.to_vec())
            }
            Self::Unfolded { step } => {
                let size = base.pop().expect("a row");
                base[last - 1] = (shape[last - 1] - 1) * step + size;
                ViewStep::Unfold { size, step }
            }
        };
        (base, vec![step])
    }
}

/// How gamma and beta are stored: both in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GammaLayout {
    /// One after the other.
    Dense,
    /// One element repeated: all columns are equal.
    Expanded,
    /// Every second element of a last axis twice as long.
    Step2,
    /// The middle of three along an axis behind the last.
    Column,
    /// A slice of a last axis that is 5 longer, from index 3 on.
    Narrowed,
    /// Stored with the last axis reversed.
    Flipped,
}

impl GammaLayout {
    /// Short name without spaces.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dense => "dense",
            Self::Expanded => "expanded",
            Self::Step2 => "step2",
            Self::Column => "column",
            Self::Narrowed => "narrowed",
            Self::Flipped => "flipped",
        }
    }

    /// The shape of the base of a view of the given shape, and the steps that make the view: each
    /// of them along the last axis.
    pub(crate) fn plan(self, shape: &[usize]) -> (Vec<usize>, Vec<ViewStep>) {
        let dim = shape.len() - 1;
        let len = shape[dim];
        let mut base = shape.to_vec();
        let steps = match self {
            Self::Dense => vec![],
            Self::Expanded => {
                base.fill(1);
                vec![ViewStep::Expand(shape.to_vec())]
            }
            Self::Step2 => {
                base[dim] = 2 * len;
                vec![ViewStep::Step { dim, step: 2 }]
            }
            Self::Column => {
                base.push(3);
                let narrow = ViewStep::Narrow {
                    dim: dim + 1,
                    start: 1,
                    len: 1,
                };
                vec![narrow, ViewStep::Squeeze(dim + 1)]
            }
            Self::Narrowed => {
                base[dim] += 5;
                vec![ViewStep::Narrow { dim, start: 3, len }]
            }
            Self::Flipped => vec![ViewStep::Flip(dim)],
        };
        (base, steps)
    }
}
