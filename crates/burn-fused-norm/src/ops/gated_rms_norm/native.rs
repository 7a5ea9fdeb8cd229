//! What the adapters to the CPU kernels share.

use burn::backend::Backend;
use fused_norm_kernels::cpu;

use super::GatedWanted;
use crate::ops::rms_norm::{Affine, native};

/// The wanted gradients, as far as their parameters are there.
pub(super) fn wanted_of<B: Backend>(affine: &Affine<B>, wanted: GatedWanted) -> cpu::GatedWanted {
    let norm = native::wanted_of(affine, wanted.norm);
    cpu::GatedWanted {
        dx: norm.dx,
        dgate: wanted.dgate,
        dgamma: norm.dgamma,
        dbeta: norm.dbeta,
    }
}
