//! The text to learn from when none is given: the documentation of this repository.

/// The files, embedded so that the program runs from anywhere. The last tenth of the whole is what
/// a run is judged by.
const FILES: &[&[u8]] = &[
    include_bytes!("../../../CHANGELOG.md"),
    include_bytes!("../../../README.md"),
    include_bytes!("../../../docs/math.md"),
    include_bytes!("../../../docs/architecture.md"),
    include_bytes!("../../../docs/performance.md"),
    include_bytes!("../../../docs/numerics.md"),
];

/// All files, one after another.
pub fn documentation() -> Vec<u8> {
    FILES.concat()
}
