//! Whether CubeCL's CPU runtime converts to bf16 on this machine.

use core::sync::atomic::{AtomicU8, Ordering};

use cubecl::client::Client;
use half::bf16;

use super::launch::narrow_to_bf16;

/// What bf16 holds exactly, and what it rounds.
const NUMBERS: [f32; 4] = [1.0, -2.5, 0.1, -3.3e38];

const UNKNOWN: u8 = 0;
const ABSENT: u8 = 1;
const PRESENT: u8 = 2;

/// Whether kernels with bf16 run on this device, CubeCL's CPU runtime; tried once a process.
///
/// The runtime says that it has bf16 on every processor. But LLVM rounds f32 to bf16 by an instruction of
/// AVX512-BF16, or else by a call of `__truncsfbf2`, which the process has to bring: libgcc does since
/// GCC 13. Where there is neither, no kernel with bf16 is run, no error is returned, and what a kernel
/// should have written is whatever was in memory.
pub(super) fn has_bf16(client: &Client) -> bool {
    // Two threads may both try, and find the same.
    static FOUND: AtomicU8 = AtomicU8::new(UNKNOWN);
    match FOUND.load(Ordering::Relaxed) {
        UNKNOWN => {
            let present = is_rounded(client);
            let found = if present { PRESENT } else { ABSENT };
            FOUND.store(found, Ordering::Relaxed);
            present
        }
        found => found == PRESENT,
    }
}

fn is_rounded(client: &Client) -> bool {
    let rounded = NUMBERS.map(|number| bf16::from_f32(number).to_bits());
    let bytes = narrow_to_bf16(client, &NUMBERS);
    bytes.is_some_and(|bytes| {
        let found = bytes.chunks_exact(2);
        found.eq(rounded.iter().map(|bits| bits.to_ne_bytes()))
    })
}
