use core::fmt::Debug;
use core::ops::{Add, AddAssign, Div, Mul, Sub};

use half::{bf16, f16};

use super::instances::Instances;
use super::row::Decay;
use super::{convert, f16c};

mod sealed {
    pub trait Sealed {}
    impl Sealed for f64 {}
    impl Sealed for f32 {}
    impl Sealed for half::f16 {}
    impl Sealed for half::bf16 {}
}

/// A type in which rows can be stored: f64, f32, f16, bf16.
pub trait Element: Copy + Default + Debug + Send + Sync + sealed::Sealed + 'static {
    /// The type in which they are computed: f64 for f64, f32 for the others.
    type Statistic: Statistic;

    /// The same value in the type of computation; exact.
    fn widen(self) -> Self::Statistic;

    /// The nearest value of the type of storage, ties to even.
    fn narrow(value: Self::Statistic) -> Self;

    /// [`widen`](Self::widen) of every value.
    // A loop: `map` of an array would be compiled for the baseline instruction set.
    #[inline(always)]
    fn widen_all<const N: usize>(values: [Self; N]) -> [Self::Statistic; N] {
        let mut wide = [Self::Statistic::default(); N];
        for lane in 0..N {
            wide[lane] = values[lane].widen();
        }
        wide
    }

    /// Makes every value `change(lane, value)`, computed in the type of computation and rounded once.
    // One loop: apart from what computes the values, LLVM 21 narrows bf16 one by one.
    #[inline(always)]
    fn change_all<const N: usize>(
        values: &mut [Self; N],
        change: impl Fn(usize, Self::Statistic) -> Self::Statistic,
    ) {
        for (lane, value) in values.iter_mut().enumerate() {
            *value = Self::narrow(change(lane, value.widen()));
        }
    }

    /// [`narrow`](Self::narrow) of `value(lane)` for every lane.
    // One loop, for the same reason.
    #[inline(always)]
    fn narrow_all<const N: usize>(value: impl Fn(usize) -> Self::Statistic) -> [Self; N] {
        let mut narrow = [Self::default(); N];
        for (lane, narrow) in narrow.iter_mut().enumerate() {
            *narrow = Self::narrow(value(lane));
        }
        narrow
    }

    /// The same value in f64; exact.
    fn to_f64(self) -> f64 {
        self.widen().to_f64()
    }

    /// The nearest value of the type of storage, ties to even: one rounding.
    fn from_f64(value: f64) -> Self;

    /// The kernels of this type.
    #[doc(hidden)]
    fn instances() -> &'static Instances<Self>;
}

/// A type in which rows are computed: f64, f32.
pub trait Statistic:
    Element<Statistic = Self>
    + Add<Output = Self>
    + AddAssign
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + PartialOrd
    + Decay
{
    /// 1
    const ONE: Self;

    /// −0
    const NEGATIVE_ZERO: Self;

    /// The largest finite value.
    const LARGEST: f64;

    /// Below this, squares of this type lose digits that the mean square needs.
    const SMALL_MEAN_SQUARE: f64;
}

impl Element for f64 {
    type Statistic = f64;

    #[inline(always)]
    fn widen(self) -> f64 {
        self
    }

    #[inline(always)]
    fn narrow(value: f64) -> f64 {
        value
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }

    #[inline(always)]
    fn from_f64(value: f64) -> f64 {
        value
    }

    fn instances() -> &'static Instances<f64> {
        static INSTANCES: Instances<f64> = Instances::ALL;
        &INSTANCES
    }
}

impl Element for f32 {
    type Statistic = f32;

    #[inline(always)]
    fn widen(self) -> f32 {
        self
    }

    #[inline(always)]
    fn narrow(value: f32) -> f32 {
        value
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    #[inline(always)]
    fn from_f64(value: f64) -> f32 {
        value as f32
    }

    fn instances() -> &'static Instances<f32> {
        static INSTANCES: Instances<f32> = Instances::ALL;
        &INSTANCES
    }
}

impl Element for f16 {
    type Statistic = f32;

    #[inline(always)]
    fn widen(self) -> f32 {
        convert::f16_to_f32(self)
    }

    #[inline(always)]
    fn narrow(value: f32) -> f16 {
        convert::f32_to_f16(value)
    }

    #[inline(always)]
    fn widen_all<const N: usize>(values: [f16; N]) -> [f32; N] {
        f16c::widen(values)
    }

    #[inline(always)]
    fn change_all<const N: usize>(values: &mut [f16; N], change: impl Fn(usize, f32) -> f32) {
        let mut wide = f16c::widen(*values);
        for (lane, value) in wide.iter_mut().enumerate() {
            *value = change(lane, *value);
        }
        *values = f16c::narrow(wide);
    }

    #[inline(always)]
    fn narrow_all<const N: usize>(value: impl Fn(usize) -> f32) -> [f16; N] {
        let mut wide = [0.0; N];
        for (lane, wide) in wide.iter_mut().enumerate() {
            *wide = value(lane);
        }
        f16c::narrow(wide)
    }

    #[inline(always)]
    fn from_f64(value: f64) -> f16 {
        convert::f32_to_f16(convert::f64_to_f32_odd(value))
    }

    fn instances() -> &'static Instances<f16> {
        static INSTANCES: Instances<f16> = Instances::ALL;
        &INSTANCES
    }
}

impl Element for bf16 {
    type Statistic = f32;

    #[inline(always)]
    fn widen(self) -> f32 {
        convert::bf16_to_f32(self)
    }

    #[inline(always)]
    fn narrow(value: f32) -> bf16 {
        convert::f32_to_bf16(value)
    }

    #[inline(always)]
    fn from_f64(value: f64) -> bf16 {
        convert::f32_to_bf16(convert::f64_to_f32_odd(value))
    }

    fn instances() -> &'static Instances<bf16> {
        static INSTANCES: Instances<bf16> = Instances::ALL;
        &INSTANCES
    }
}

impl Statistic for f64 {
    const ONE: f64 = 1.0;

    const NEGATIVE_ZERO: f64 = -0.0;

    const LARGEST: f64 = f64::MAX;

    // 2^-900: a square of 2^-1074, the smallest f64, is off by 2^-174 of it at most.
    const SMALL_MEAN_SQUARE: f64 = f64::from_bits((1023 - 900) << 52);
}

impl Statistic for f32 {
    const ONE: f32 = 1.0;

    const NEGATIVE_ZERO: f32 = -0.0;

    const LARGEST: f64 = f32::MAX as f64;

    // 2^-96: a square is off by 2^-150 at most, 2^-54 of it.
    const SMALL_MEAN_SQUARE: f64 = f64::from_bits((1023 - 96) << 52);
}
