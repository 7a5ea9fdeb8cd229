//! The rows of an input, as arbitrary as it says.

use fused_norm_kernels::cpu::Rows;

use crate::Input;
use crate::common::Kind;

/// Rows in a buffer, where they are, and whether all of them are.
pub struct Buffer<T> {
    pub data: Vec<T>,
    pub offset: usize,
    pub pitch: usize,
    pub fits: bool,
}

impl<T: Kind> Buffer<T> {
    pub fn new(input: &Input, index: usize, groups: usize, len: usize) -> Self {
        let pitch = (len as isize + isize::from(input.gaps[index])).max(0) as usize;
        let offset = usize::from(input.offsets[index]) % 40;
        let needed = groups.checked_sub(1).map_or(0, |last| last * pitch + len);
        let missing = match input.missing[index] {
            missing @ -8..=8 => isize::from(missing),
            _ => 0,
        };
        let found = (needed as isize - missing).max(0) as usize;
        let mut values = input.values.iter().cycle().skip(17 * index);
        let mut byte = || values.next().copied().unwrap_or(0);
        let value = |_| match input.wild {
            true => {
                let bits = u64::from_le_bytes(std::array::from_fn(|_| byte()));
                T::from_f64(f64::from_bits(bits))
            }
            false => T::from_f64(f64::from(byte() as i8) / 32.0),
        };
        Self {
            data: (0..offset + found).map(value).collect(),
            offset,
            pitch,
            fits: found >= needed,
        }
    }

    pub fn rows(&self) -> Rows<'_, T> {
        Rows::with_pitch(&self.data[self.offset..], self.pitch)
    }

    /// The rows one after the other.
    pub fn dense(&self, groups: usize, len: usize) -> Vec<T> {
        let group = |index: usize| {
            let start = self.offset + index * self.pitch;
            self.data[start..start + len].to_vec()
        };
        (0..groups).flat_map(group).collect()
    }
}
