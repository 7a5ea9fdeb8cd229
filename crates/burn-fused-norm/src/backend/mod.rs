//! Adapters: a backend's tensors as rows, and rows as a backend's tensors. Shared by all operations.

#[cfg(feature = "cube")]
pub(crate) mod cube;
#[cfg(feature = "flex")]
pub(crate) mod flex;
#[cfg(any(feature = "cube", feature = "flex", feature = "ndarray"))]
pub(crate) mod interleaving;
#[cfg(any(feature = "cube", feature = "flex"))]
pub(crate) mod layout;
// Burn deprecates its NdArray backend as a whole; it is supported for who still uses it.
#[allow(deprecated)]
#[cfg(feature = "ndarray")]
pub(crate) mod ndarray;
#[cfg(any(feature = "flex", feature = "ndarray"))]
pub(crate) mod parameters;
