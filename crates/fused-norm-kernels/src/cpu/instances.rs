//! The kernels of each type, compiled once: here, and not again in every crate that calls them.
//!
//! A generic function is compiled where it is called, with the settings of that crate. The row loops
//! are compiled for several instruction sets each, which takes a compiler minutes; and a user's debug
//! build would run them unoptimised. So the public functions call through a table that this crate fills: a
//! `static` for each type, as a constant would be compiled with the function that returns it, which the
//! compiler takes over into other crates.

use super::{
    Added, Affine, Element, Gate, GatedGradients, GatedWanted, Gradients, Interleaved, Normalised,
    Rows, Wanted, add, backward, forward, gated, interleaved,
};
use crate::{Error, Problem};

type Statistic<T> = <T as Element>::Statistic;

type Forward<T> = fn(
    &Problem,
    Rows<'_, T>,
    Affine<'_, Statistic<T>>,
    with_rstd: bool,
) -> Result<Normalised<T>, Error>;

type ForwardInPlace<T> = fn(&Problem, &mut [T], Affine<'_, Statistic<T>>) -> Result<(), Error>;

type Backward<T> = fn(
    &Problem,
    dy: Rows<'_, T>,
    x: Rows<'_, T>,
    rstd: &[Statistic<T>],
    gamma: Option<&[Statistic<T>]>,
    Wanted,
) -> Result<Gradients<T>, Error>;

type BackwardInPlace<T> = fn(
    &Problem,
    dy: &mut [T],
    x: Rows<'_, T>,
    rstd: &[Statistic<T>],
    gamma: Option<&[Statistic<T>]>,
    Wanted,
) -> Result<Gradients<T>, Error>;

type AddForward<T> = fn(
    &Problem,
    x: Rows<'_, T>,
    residual: Rows<'_, T>,
    Affine<'_, Statistic<T>>,
    with_rstd: bool,
) -> Result<Added<T>, Error>;

type GatedForward<T> = fn(
    &Problem,
    Rows<'_, T>,
    Gate<'_, T>,
    Affine<'_, Statistic<T>>,
    with_rstd: bool,
) -> Result<Normalised<T>, Error>;

type GatedBackward<T> = fn(
    &Problem,
    dy: Rows<'_, T>,
    x: Rows<'_, T>,
    Gate<'_, T>,
    rstd: &[Statistic<T>],
    Affine<'_, Statistic<T>>,
    GatedWanted,
) -> Result<GatedGradients<T>, Error>;

type InterleavedForward<T> = fn(
    &Problem,
    Interleaved<'_, T>,
    Affine<'_, Statistic<T>>,
    with_rstd: bool,
) -> Result<Normalised<T>, Error>;

type InterleavedBackward<T> = fn(
    &Problem,
    dy: Interleaved<'_, T>,
    x: Interleaved<'_, T>,
    rstd: &[Statistic<T>],
    gamma: Option<&[Statistic<T>]>,
    Wanted,
) -> Result<Gradients<T>, Error>;

/// The kernels of one type.
pub struct Instances<T: Element> {
    pub(super) forward: Forward<T>,
    pub(super) forward_in_place: ForwardInPlace<T>,
    pub(super) backward: Backward<T>,
    pub(super) backward_in_place: BackwardInPlace<T>,
    pub(super) add_forward: AddForward<T>,
    pub(super) gated_forward: GatedForward<T>,
    pub(super) gated_backward: GatedBackward<T>,
    pub(super) interleaved_forward: InterleavedForward<T>,
    pub(super) interleaved_backward: InterleavedBackward<T>,
}

impl<T: Element> Instances<T> {
    pub(super) const ALL: Self = Self {
        forward: forward::into_new,
        forward_in_place: forward::in_place,
        backward: backward::into_new,
        backward_in_place: backward::in_place,
        add_forward: add::forward,
        gated_forward: gated::forward::forward,
        gated_backward: gated::backward::backward,
        interleaved_forward: interleaved::forward::forward,
        interleaved_backward: interleaved::backward::backward,
    };
}
