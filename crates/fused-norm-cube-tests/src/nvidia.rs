//! NVIDIA machine code without a GPU: PTX from CubeCL's compiler, assembled by `ptxas`.

use std::ffi::CStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use cubecl::Compiler;
use cubecl::features::{Features, Plane};
use cubecl::ir::nvidia::SmArch;
use cubecl::ir::{DeviceIdentity, DeviceProperties, HardwareProperties, MemoryDeviceProperties};
use cubecl_llvm::nvptx::ptx_version::PtxVersion;
use cubecl_llvm::{LlvmTarget, PlironArtifact, PlironCompiler, PlironOptions};
use fused_norm_kernels::cube::offline::Kernel;

/// What CubeCL's CUDA runtime reports of a GPU with this many multiprocessors.
pub fn device(processors: u32) -> Arc<DeviceProperties> {
    let hardware = HardwareProperties {
        load_width: 128,
        vector_register_count: None,
        plane_size_min: 32,
        plane_size_max: 32,
        max_bindings: 1024,
        max_shared_memory_size: 48 * 1024,
        max_cube_count: (i32::MAX as u32, u16::MAX as u32, u16::MAX as u32),
        max_units_per_cube: 1024,
        max_cube_dim: (1024, 1024, 64),
        num_streaming_multiprocessors: Some(processors),
        num_tensor_cores: None,
        min_tensor_cores_dim: None,
        num_cpu_cores: None,
        last_level_cache_size: None,
        max_vector_size: cubecl::ir::VectorSize::MAX,
        cube_mma_reserved_shared_memory: 0,
    };
    let features = Features {
        plane: Plane::Ops.into(),
        ..Default::default()
    };
    let identity = DeviceIdentity {
        name: "offline".into(),
        fingerprint: "offline".into(),
        physical: None,
    };
    Arc::new(DeviceProperties::new(
        features,
        MemoryDeviceProperties::new(u64::MAX, 256),
        hardware,
        cubecl::profile::TimingMethod::Device,
        identity,
    ))
}

/// The PTX of a kernel, as CubeCL's CUDA runtime makes it for an architecture.
pub fn ptx(kernel: Kernel, arch: u32) -> String {
    let mut compiler = PlironCompiler {
        target: LlvmTarget::Nvptx,
    };
    let options = PlironOptions {
        sm_arch: Some(SmArch::new(arch, arch >= 90)),
        ptx_version: PtxVersion::for_driver(12_080),
        // The runtime sets it from sm_70 on.
        grid_constants: true,
        ..Default::default()
    };
    match compiler.compile(kernel.definition, &options) {
        // SAFETY: the module's PTX is NUL-terminated.
        Ok(PlironArtifact::NvptxCode(module)) => unsafe { CStr::from_ptr(module.ptx.as_ptr()) }
            .to_string_lossy()
            .into_owned(),
        Ok(_) => unreachable!("the NVPTX target makes PTX"),
        Err(error) => panic!("{}: {error:?}", kernel.name),
    }
}

/// `ptxas`: `$PTXAS`, or the one on the path.
pub fn assembler() -> Result<PathBuf, String> {
    let named = std::env::var_os("PTXAS").map_or_else(|| "ptxas".into(), PathBuf::from);
    let status = Command::new(&named)
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    match status {
        Ok(status) if status.success() => Ok(named),
        _ => Err(format!("no assembler {} (set PTXAS)", named.display())),
    }
}

/// Whether CubeCL finds NVIDIA's mathematical functions, which kernels with a gate take `exp` from: they
/// are part of the CUDA toolkit.
pub fn mathematics() -> Result<(), String> {
    let named = std::env::var_os("CUDA_PATH").map(PathBuf::from);
    let usual = ["/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda", "/usr"];
    let mut roots = named.into_iter().chain(usual.map(PathBuf::from));
    match roots.any(|root| root.join("nvvm/libdevice/libdevice.10.bc").is_file()) {
        true => Ok(()),
        false => Err("no nvvm/libdevice/libdevice.10.bc (set CUDA_PATH)".into()),
    }
}

/// What `ptxas -v` says of a kernel, and what its PTX shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// Registers a thread.
    pub registers: u32,
    /// Bytes spilled, stored and loaded.
    pub spills: u32,
    /// Bytes of local memory: the stack frame.
    pub stack: u32,
    /// Loads from global memory: bits of one, and how many there are of that width.
    pub loads: Vec<(u32, usize)>,
    /// Stores to global memory.
    pub stores: Vec<(u32, usize)>,
}

/// Assembles PTX.
///
/// # Panics
///
/// If `ptxas` refuses it.
pub fn assemble(ptxas: &Path, ptx: &str, arch: u32) -> Code {
    let suffix = if arch >= 90 { "a" } else { "" };
    let mut child = Command::new(ptxas)
        .args([
            &format!("-arch=sm_{arch}{suffix}"),
            "-v",
            "-o",
            "/dev/null",
            "-",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the assembler has just answered");
    let mut stdin = child.stdin.take().expect("piped");
    stdin
        .write_all(ptx.as_bytes())
        .expect("ptxas reads its input");
    drop(stdin);
    let output = child.wait_with_output().expect("ptxas ends");
    let text = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "ptxas: {text}\n{ptx}");
    Code {
        registers: before(&text, " registers"),
        spills: before(&text, " bytes spill stores") + before(&text, " bytes spill loads"),
        stack: before(&text, " bytes stack frame"),
        loads: accesses(ptx, "ld.global"),
        stores: accesses(ptx, "st.global"),
    }
}

/// The number before a word of what `ptxas -v` says.
fn before(text: &str, word: &str) -> u32 {
    let head = &text[..text.find(word).unwrap_or_default()];
    let number = head.rsplit(|c: char| !c.is_ascii_digit()).next();
    number
        .and_then(|number| number.parse().ok())
        .unwrap_or_else(|| panic!("ptxas does not say how many{word}: {text}"))
}

/// Width in bits of every access, counted: `ld.global.nc.v4.b32` moves 4 · 32.
fn accesses(ptx: &str, opcode: &str) -> Vec<(u32, usize)> {
    let mut counts = std::collections::BTreeMap::new();
    for line in ptx.lines() {
        let Some(start) = line.find(opcode) else {
            continue;
        };
        let name = line[start..].split_whitespace().next().unwrap_or_default();
        let mut lanes = 1;
        let mut bits = 0;
        for part in name.split('.') {
            let number = part[1.min(part.len())..].parse::<u32>();
            match (part.as_bytes().first(), number) {
                (Some(b'v'), Ok(number)) => lanes = number,
                (Some(b'b' | b'f' | b'u' | b's'), Ok(number)) => bits = number,
                _ => {}
            }
        }
        *counts.entry(lanes * bits).or_default() += 1;
    }
    counts.into_iter().collect()
}
