//! Which views are rows that lie side by side: what normalisation over another axis than the last sees.

use alloc::vec::Vec;

use burn::tensor::Shape;

/// Rows side by side that are worth the walk across them: with fewer, a copy is read faster.
const MIN_INNER: usize = 8;

/// A view `[outer.., inner.., row_len]` of memory in which the last axis comes before the inner ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interleaving {
    /// Rows that lie side by side: the distance between neighbouring elements of a row.
    pub(crate) inner: usize,
    /// Elements between the starts of neighbouring groups of such rows.
    pub(crate) pitch: usize,
    /// Axes that number the rows side by side.
    inner_axes: usize,
}

impl Interleaving {
    /// What a view with these strides is, if it is one of these.
    pub(crate) fn of(shape: &[usize], strides: &[isize]) -> Option<Self> {
        let (&row_len, outer_shape) = shape.split_last()?;
        let (&inner, outer_strides) = strides.split_last()?;
        let inner = usize::try_from(inner).ok()?;
        if row_len < 2 || inner < MIN_INNER {
            return None;
        }
        let mut axes = outer_shape.iter().zip(outer_strides).rev();
        let (mut rows, mut inner_axes) = (1, 0);
        while rows < inner {
            let (&len, &stride) = axes.next()?;
            if len != 1 && stride != rows as isize {
                return None;
            }
            rows *= len;
            inner_axes += 1;
        }
        if rows != inner {
            return None;
        }
        // (groups so far, their pitch), from the innermost axis outwards.
        let mut collapsed: Option<(usize, isize)> = None;
        for (&len, &stride) in axes.filter(|(len, _)| **len != 1) {
            collapsed = match collapsed {
                None => Some((len, stride)),
                Some((groups, pitch)) if stride == pitch * groups as isize => {
                    Some((groups * len, pitch))
                }
                Some(_) => return None,
            };
        }
        let pitch = match collapsed {
            None => row_len * inner,
            Some((_, pitch)) => usize::try_from(pitch).ok()?,
        };
        Some(Self {
            inner,
            pitch,
            inner_axes,
        })
    }

    /// Nothing lies between the rows of a view of this shape.
    #[cfg(feature = "ndarray")]
    pub(crate) fn is_dense(&self, shape: &[usize]) -> bool {
        shape
            .last()
            .is_some_and(|row_len| self.pitch == row_len * self.inner)
    }

    /// The shape of dense memory of which such a view of this shape is made.
    pub(crate) fn base_shape(&self, shape: &Shape) -> Shape {
        let mut dims: Vec<usize> = shape.iter().copied().collect();
        let first = dims.len() - 1 - self.inner_axes;
        dims[first..].rotate_right(1);
        Shape::from(dims)
    }

    /// The axes of that memory, in the order of the view's.
    pub(crate) fn permutation(&self, rank: usize) -> Vec<usize> {
        let mut axes: Vec<usize> = (0..rank).collect();
        axes[rank - 1 - self.inner_axes..].rotate_left(1);
        axes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Strides of a dense tensor of this shape.
    fn dense(shape: &[usize]) -> Vec<isize> {
        let mut strides = alloc::vec![1; shape.len()];
        for axis in (1..shape.len()).rev() {
            strides[axis - 1] = strides[axis] * shape[axis] as isize;
        }
        strides
    }

    #[test]
    fn channels_of_images_and_a_transposed_matrix() {
        for (base, moved) in [
            (alloc::vec![2, 5, 4, 6], 1),
            (alloc::vec![5, 9], 0),
            (alloc::vec![3, 1, 5, 16], 2),
            (alloc::vec![1, 5, 1, 8], 1),
        ] {
            let (mut shape, mut strides) = (base.clone(), dense(&base));
            let (len, stride) = (shape.remove(moved), strides.remove(moved));
            shape.push(len);
            strides.push(stride);
            let found = Interleaving::of(&shape, &strides).expect("rows side by side");
            let inner = base[moved + 1..].iter().product();
            assert_eq!((found.inner, found.pitch), (inner, len * inner), "{base:?}");
            // Axes of one element may be on either side.
            let made = found.base_shape(&Shape::from(shape.clone()));
            assert_eq!(made.num_elements(), base.iter().product::<usize>());
            let permuted: Vec<usize> = found
                .permutation(shape.len())
                .into_iter()
                .map(|axis| made[axis])
                .collect();
            assert_eq!(permuted, shape);
        }
    }

    #[test]
    fn a_slice_of_a_batch_has_a_larger_pitch() {
        let found = Interleaving::of(&[3, 10, 4], &[200, 1, 10]).unwrap();
        assert_eq!((found.inner, found.pitch), (10, 200));
    }

    #[test]
    fn what_is_not_side_by_side() {
        assert_eq!(Interleaving::of(&[3, 5], &[5, 1]), None, "rows");
        assert_eq!(Interleaving::of(&[4, 5], &[1, 4]), None, "too few");
        assert_eq!(Interleaving::of(&[10, 5], &[2, 20]), None, "a step");
        assert_eq!(Interleaving::of(&[10, 5], &[-1, 10]), None, "flipped");
        assert_eq!(Interleaving::of(&[8, 5], &[1, 16]), None, "a slice of them");
        assert_eq!(Interleaving::of(&[16, 1], &[1, 16]), None, "one element");
        assert_eq!(Interleaving::of(&[4, 4, 5], &[1, 4, 16]), None, "swapped");
    }
}
