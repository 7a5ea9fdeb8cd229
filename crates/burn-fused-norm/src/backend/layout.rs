//! Which views are rows with one pitch.

/// The distance between the starts of neighbouring rows of `row_len`, in elements, of a view whose
/// last axis is dense and holds whole rows, and all of whose rows have one pitch; `None` for any other
/// view.
pub(crate) fn row_pitch(shape: &[usize], strides: &[isize], row_len: usize) -> Option<usize> {
    let (&last, outer_shape) = shape.split_last()?;
    let (&last_stride, outer_strides) = strides.split_last()?;
    if last > 1 && last_stride != 1 {
        return None;
    }
    let parts = (last / row_len, row_len as isize);
    let outer = outer_shape
        .iter()
        .copied()
        .zip(outer_strides.iter().copied());
    // (rows so far, their pitch), from the innermost axis outwards.
    let mut collapsed: Option<(usize, isize)> = None;
    for (len, stride) in core::iter::once(parts).chain(outer.rev()) {
        if len == 1 {
            continue;
        }
        collapsed = match collapsed {
            None => Some((len, stride)),
            Some((rows, pitch)) if stride == pitch * rows as isize => Some((rows * len, pitch)),
            Some(_) => return None,
        };
    }
    match collapsed {
        None => Some(row_len),
        Some((_, pitch)) => usize::try_from(pitch).ok(),
    }
}

#[cfg(test)]
mod tests {
    /// Rows of the whole last axis.
    fn row_pitch(shape: &[usize], strides: &[isize]) -> Option<usize> {
        super::row_pitch(shape, strides, shape.last().copied().unwrap_or(1))
    }

    #[test]
    fn dense_rows_of_any_rank() {
        assert_eq!(row_pitch(&[5], &[1]), Some(5));
        assert_eq!(row_pitch(&[3, 5], &[5, 1]), Some(5));
        assert_eq!(row_pitch(&[2, 3, 5], &[15, 5, 1]), Some(5));
        assert_eq!(row_pitch(&[2, 1, 3, 1, 5], &[15, 99, 5, 7, 1]), Some(5));
    }

    #[test]
    fn slices_broadcasts_and_windows() {
        assert_eq!(
            row_pitch(&[64, 128, 1024], &[128 * 3072, 3072, 1]),
            Some(3072)
        );
        assert_eq!(row_pitch(&[7, 5], &[0, 1]), Some(0));
        assert_eq!(row_pitch(&[1, 9, 4], &[12, 1, 1]), Some(1));
        assert_eq!(row_pitch(&[4, 1], &[3, 8]), Some(3));
    }

    #[test]
    fn parts_of_the_last_axis_are_rows_where_all_have_one_pitch() {
        assert_eq!(super::row_pitch(&[3, 12], &[12, 1], 4), Some(4));
        assert_eq!(super::row_pitch(&[12], &[1], 4), Some(4));
        assert_eq!(super::row_pitch(&[1, 12], &[99, 1], 4), Some(4));
        assert_eq!(super::row_pitch(&[3, 12], &[36, 1], 4), None, "gaps");
        assert_eq!(super::row_pitch(&[3, 12], &[0, 1], 4), None, "broadcast");
    }

    #[test]
    fn what_has_to_be_copied() {
        assert_eq!(row_pitch(&[3, 5], &[1, 3]), None, "transposed");
        assert_eq!(row_pitch(&[3, 5], &[10, 2]), None, "every second element");
        assert_eq!(row_pitch(&[3, 5], &[5, -1]), None, "flipped");
        assert_eq!(row_pitch(&[3, 5], &[-5, 1]), None, "rows flipped");
        assert_eq!(
            row_pitch(&[2, 3, 5], &[5, 10, 1]),
            None,
            "outer axes swapped"
        );
        assert_eq!(
            row_pitch(&[2, 3, 5], &[0, 5, 1]),
            None,
            "broadcast over rows"
        );
        assert_eq!(row_pitch(&[], &[]), None, "no axes");
    }
}
