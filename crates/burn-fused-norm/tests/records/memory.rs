//! The largest piece of memory that this thread has asked for.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Watched;

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

#[global_allocator]
static ALLOCATOR: Watched = Watched;

/// Forgets what was asked for so far.
pub fn watch() {
    LARGEST.set(0);
}

/// Bytes of the largest piece since.
pub fn largest() -> usize {
    LARGEST.get()
}

fn note(size: usize) {
    // A thread that ends may still allocate.
    let _ = LARGEST.try_with(|largest| largest.set(largest.get().max(size)));
}

// SAFETY: every method hands its arguments to `System`, whose promises are those asked for. Noting a
// size neither allocates nor panics: the thread-local has a constant initial value and no destructor.
unsafe impl GlobalAlloc for Watched {
    // SAFETY: as of `GlobalAlloc::alloc`, which `System` keeps.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller's promises are those of `System`.
        unsafe { System.alloc(layout) }
    }

    // SAFETY: as of `GlobalAlloc::alloc_zeroed`, which `System` keeps.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller's promises are those of `System`.
        unsafe { System.alloc_zeroed(layout) }
    }

    // SAFETY: as of `GlobalAlloc::realloc`, which `System` keeps.
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size);
        // SAFETY: the caller's promises are those of `System`.
        unsafe { System.realloc(pointer, layout, size) }
    }

    // SAFETY: as of `GlobalAlloc::dealloc`, which `System` keeps.
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are those of `System`.
        unsafe { System.dealloc(pointer, layout) }
    }
}
