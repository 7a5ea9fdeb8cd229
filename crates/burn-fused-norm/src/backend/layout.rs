//! Which views are rows with one pitch.

/// The distance between the starts of neighbouring rows, in elements, of a view whose last axis is
/// dense and whose other axes collapse into one; `None` for any other view.
pub(crate) fn row_pitch(shape: &[usize], strides: &[isize]) -> Option<usize> {
    let (&row_len, outer_shape) = shape.split_last()?;
    let (&last_stride, outer_strides) = strides.split_last()?;
    if row_len > 1 && last_stride != 1 {
        return None;
    }
    // (rows so far, their pitch), from the innermost axis outwards.
    let mut collapsed: Option<(usize, isize)> = None;
    for (&len, &stride) in outer_shape.iter().zip(outer_strides).rev() {
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
    use super::row_pitch;

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
