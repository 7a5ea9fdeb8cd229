//! What this build cannot test, and which features it would take.

use std::io::Write;

#[test]
fn skipped() {
    let mut text = String::new();
    if cfg!(not(any(
        feature = "cpu",
        feature = "wgpu",
        feature = "vulkan",
        feature = "metal",
        feature = "webgpu",
        feature = "cuda",
        feature = "rocm"
    ))) {
        text += "skipped: the kernels on CubeCL devices (features cpu, wgpu, vulkan, metal, webgpu, cuda, rocm)\n";
    }
    if cfg!(not(feature = "codegen")) {
        text += "skipped: code for NVIDIA GPUs (feature codegen, which needs CubeCL's LLVM)\n";
    }
    // Not `print!`, which a test runner shows for failures only.
    let _ = std::io::stderr().write_all(text.as_bytes());
}
