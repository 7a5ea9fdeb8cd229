//! What this build cannot test, and which features it would take.

mod common;

#[test]
fn skipped() {
    if cfg!(not(any(
        feature = "cpu",
        feature = "wgpu",
        feature = "vulkan",
        feature = "metal",
        feature = "webgpu",
        feature = "cuda",
        feature = "rocm"
    ))) {
        common::skipped(
            "the number of launches (features cpu, wgpu, vulkan, metal, webgpu, cuda, rocm)",
        );
    }
    if cfg!(feature = "autodiff") {
        common::skipped("a build without autodiff (without the feature autodiff)");
    }
}
