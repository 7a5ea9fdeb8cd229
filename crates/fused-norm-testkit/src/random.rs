//! Numbers that look like chance and are the same in every run.

/// Sebastiano Vigna's splitmix64.
pub struct Random(
    /// The seed, and then the state.
    pub u64,
);

impl Random {
    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// In [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Of either sign, from 1/32 to 1 in magnitude.
    pub fn signed(&mut self) -> f64 {
        let magnitude = 1.0 / 32.0 + self.unit() * 31.0 / 32.0;
        if self.bits().is_multiple_of(2) {
            magnitude
        } else {
            -magnitude
        }
    }

    /// Of the normal distribution, by the method of Box and Muller.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Below `end`, or 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.bits() % end.max(1) as u64) as usize
    }
}
