//! Ways in which a file is damaged.

use fused_norm_testkit::Random;

/// A number decides all of it.
pub struct Damage(Random);

/// Lengths and offsets that no file has.
const EXTREMES: [u64; 9] = [
    0,
    1,
    0xff,
    0x7fff_ffff,
    0xffff_ffff,
    1 << 40,
    i64::MAX as u64,
    u64::MAX - 7,
    u64::MAX,
];

impl Damage {
    pub fn of(number: u64) -> Self {
        Self(Random(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    /// The file, with one to four of its places damaged, or bytes that never were one.
    pub fn damaged(mut self, whole: &[u8]) -> Vec<u8> {
        let mut file = whole.to_vec();
        if self.0.below(16) == 0 {
            // The beginning alone is right, or not even that.
            file.truncate(self.0.below(24));
            let noise = self.0.below(600);
            file.extend((0..noise).map(|_| self.0.bits() as u8));
            return file;
        }
        for _ in 0..=self.0.below(4) {
            let at = self.0.below(file.len().max(1));
            match self.0.below(7) {
                0 => file.truncate(at),
                1 => self.write(&mut file, at, 1),
                2 => self.write(&mut file, at, 4),
                3 => self.write(&mut file, at, 8),
                4 => {
                    // A bit.
                    let bit = 1 << self.0.below(8);
                    file.iter_mut()
                        .skip(at)
                        .take(1)
                        .for_each(|byte| *byte ^= bit);
                }
                5 => {
                    let piece = file[at..]
                        .iter()
                        .take(self.0.below(32))
                        .copied()
                        .collect::<Vec<_>>();
                    let to = self.0.below(file.len().max(1)).min(file.len());
                    file.splice(to..to, piece);
                }
                _ => {
                    let end = (at + self.0.below(32)).min(file.len());
                    file.drain(at.min(end)..end);
                }
            }
        }
        file
    }

    /// Bytes of an extreme number, or any.
    fn write(&mut self, file: &mut [u8], at: usize, width: usize) {
        let number = match self.0.below(2) {
            0 => EXTREMES[self.0.below(EXTREMES.len())],
            _ => self.0.bits(),
        };
        let bytes = number.to_le_bytes();
        let places = file.iter_mut().skip(at).take(width);
        places.zip(bytes).for_each(|(place, byte)| *place = byte);
    }
}
