//! The code that NVIDIA GPUs would run: registers, spills, local memory, width and number of
//! accesses. Prints a line a kernel (`--nocapture`): the report of docs/performance.md.

#[cfg(not(feature = "codegen"))]
#[test]
fn skipped() {
    eprintln!("skipped: built without feature codegen, which needs CubeCL's LLVM");
}

#[cfg(feature = "codegen")]
mod report {
    use cubecl::ir::{ElemType, FloatKind};
    use fused_norm_cube_tests::nvidia::{Code, assemble, assembler, device, ptx};
    use fused_norm_kernels::cube::Wanted;
    use fused_norm_kernels::cube::offline::{Kernel, Offline};

    const KINDS: [(&str, FloatKind); 3] = [
        ("f32", FloatKind::F32),
        ("f16", FloatKind::F16),
        ("bf16", FloatKind::BF16),
    ];
    const ROW_LENS: [usize; 7] = [64, 128, 1024, 4096, 8192, 16_384, 65_536];

    #[test]
    fn every_kernel() {
        let ptxas = match assembler() {
            Ok(ptxas) => ptxas,
            Err(reason) => return eprintln!("skipped: {reason}"),
        };
        println!(
            "| sm | type | row_len | kernel | units | lanes × vectors | registers | spills | local | shared | loads | stores |"
        );
        println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
        for arch in [80, 90] {
            for (name, kind) in KINDS {
                for row_len in ROW_LENS {
                    for partial in [false, true] {
                        let offline = Offline {
                            device: device(132),
                            row_len,
                            partial,
                            x: ElemType::Float(kind),
                            gamma: Some(ElemType::Float(kind)),
                            beta: None,
                        };
                        for kernel in kernels(&offline) {
                            let (kernel_name, blueprint) = (kernel.name, kernel.blueprint);
                            let text = ptx(kernel, arch);
                            if let Ok(folder) = std::env::var("PTX_DUMP") {
                                let path = format!(
                                    "{folder}/{kernel_name}-{name}-{row_len}-{partial}-{arch}.ptx"
                                );
                                std::fs::write(path, &text).unwrap();
                            }
                            let code = assemble(&ptxas, &text, arch);
                            println!(
                                "| {arch} | {name} | {row_len}{} | {kernel_name} | {} | {} × {} | {} | {} | {} | {} | {} | {} |",
                                if partial { " p" } else { "" },
                                blueprint.units(),
                                blueprint.lanes,
                                blueprint.vectors,
                                code.registers,
                                code.spills,
                                code.stack,
                                code.shared,
                                listed(&code.loads),
                                listed(&code.stores),
                            );
                            check(
                                &code,
                                kernel_name,
                                row_len,
                                &format!("{kernel_name} sm_{arch} {name} {row_len}"),
                            );
                        }
                    }
                }
            }
        }
    }

    fn kernels(offline: &Offline) -> Vec<Kernel> {
        let all = Wanted {
            dx: true,
            dgamma: true,
            dbeta: offline.beta.is_some(),
        };
        let mut kernels = vec![offline.forward(true)];
        kernels.extend(offline.backward(all));
        kernels
    }

    fn listed(accesses: &[(u32, usize)]) -> String {
        let parts: Vec<String> = accesses
            .iter()
            .map(|(bits, count)| format!("{count}×{bits}"))
            .collect();
        parts.join(" ")
    }

    fn check(code: &Code, kernel: &str, row_len: usize, what: &str) {
        let _ = (kernel, row_len);
        if code.spills + code.stack > 0 {
            println!("!! {what}: {code:?}");
        }
    }
}
