//! The code that NVIDIA GPUs would run: registers, spills, local memory, width and number of
//! accesses. Prints a line a kernel (`--nocapture`): the report of docs/performance.md.

#[cfg(feature = "codegen")]
mod variants;

#[cfg(feature = "codegen")]
mod report {
    use cubecl::ir::{ElemType, FloatKind};
    use fused_norm_cube_tests::nvidia::{Code, assemble, assembler, device, ptx};
    use fused_norm_kernels::cube::offline::{Kernel, Offline};
    use fused_norm_kernels::cube::{Blueprint, Form, Reach, Wanted};

    const F32: ElemType = ElemType::Float(FloatKind::F32);
    const KINDS: [(&str, ElemType); 3] = [
        ("f32", F32),
        ("f16", ElemType::Float(FloatKind::F16)),
        ("bf16", ElemType::Float(FloatKind::BF16)),
    ];
    const ROW_LENS: [usize; 7] = [64, 128, 1024, 4096, 8192, 16_384, 65_536];
    /// Multiprocessors of an H100: the code does not depend on them.
    const PROCESSORS: u32 = 132;

    /// The types of gamma and beta beside x.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Parameters {
        None,
        AsX,
        ScaleShiftF32,
    }

    struct Subject {
        arch: u32,
        kind: &'static str,
        row_len: usize,
        reach: Reach,
        parameters: Parameters,
    }

    #[test]
    fn every_kernel() {
        let ptxas = match assembler() {
            Ok(ptxas) => ptxas,
            Err(reason) => return eprintln!("skipped: {reason}"),
        };
        println!(
            "| sm | type | row_len | kernel | units | lanes × vectors | registers | spills | local | \
             loads | stores |\n|---|---|---|---|---|---|---|---|---|---|---|"
        );
        let mut failures = vec![];
        for arch in [80, 90] {
            for (kind, elem) in KINDS {
                for row_len in ROW_LENS {
                    for reach in [Reach::Row, Reach::Vectors] {
                        for parameters in
                            [Parameters::AsX, Parameters::None, Parameters::ScaleShiftF32]
                        {
                            let subject = Subject {
                                arch,
                                kind,
                                row_len,
                                reach,
                                parameters,
                            };
                            for kernel in kernels(&subject, elem) {
                                let (name, units) = (kernel.name, kernel.units());
                                let blueprint = kernel.blueprint;
                                let code = assemble(&ptxas, &ptx(kernel, arch), arch);
                                print(&subject, name, units, &blueprint, &code);
                                failures.extend(wrong(&subject, name, &blueprint, &code));
                            }
                        }
                    }
                }
            }
        }
        assert!(failures.is_empty(), "{}", failures.join("\n"));
    }

    fn kernels(subject: &Subject, x: ElemType) -> Vec<Kernel> {
        let (gamma, beta) = match subject.parameters {
            Parameters::None => (None, None),
            Parameters::AsX => (Some(x), None),
            Parameters::ScaleShiftF32 => (Some(F32), Some(F32)),
        };
        let offline = Offline {
            device: device(PROCESSORS),
            row_len: subject.row_len,
            reach: subject.reach,
            x,
            gamma,
            beta,
            form: Form::default(),
        };
        let wanted = Wanted {
            dx: true,
            dgate: false,
            dgamma: gamma.is_some(),
            dbeta: beta.is_some(),
        };
        let mut kernels = vec![offline.forward(true)];
        kernels.extend(offline.backward(wanted));
        kernels
    }

    fn print(subject: &Subject, name: &str, units: u32, blueprint: &Blueprint, code: &Code) {
        if subject.reach != Reach::Row || subject.parameters != Parameters::AsX {
            return;
        }
        println!(
            "| {} | {} | {} | {name} | {} | {} × {} | {} | {} | {} | {} | {} |",
            subject.arch,
            subject.kind,
            subject.row_len,
            units,
            blueprint.lanes,
            blueprint.vectors,
            code.registers,
            code.spills,
            code.stack,
            listed(&code.loads),
            listed(&code.stores),
        );
    }

    fn listed(accesses: &[(u32, usize)]) -> String {
        let parts: Vec<String> = accesses
            .iter()
            .map(|(bits, count)| format!("{count} × {bits}"))
            .collect();
        parts.join(", ")
    }

    /// What is wrong with the code, if anything.
    fn wrong(subject: &Subject, name: &str, blueprint: &Blueprint, code: &Code) -> Vec<String> {
        let mut wrong = vec![];
        let mut expect = |holds: bool, what: String| {
            if !holds {
                let Subject {
                    arch,
                    kind,
                    row_len,
                    reach,
                    parameters,
                } = subject;
                wrong.push(format!(
                    "{name} sm_{arch} {kind} {row_len} {reach:?} {parameters:?}: {what}"
                ));
            }
        };
        let counts = |accesses: &[(u32, usize)], bits: u32| {
            let found = accesses.iter().find(|(width, _)| *width == bits);
            found.map_or(0, |(_, count)| *count)
        };
        let resident = blueprint.vectors > 0 && name != "reduce";
        // dbeta beside dgamma, 64 registers of sums at 16 384, leaves the assembler to spill a little;
        // on sm_80 it does so once more, for a higher occupancy.
        let spilled = match (subject.parameters, subject.row_len, subject.arch) {
            (Parameters::ScaleShiftF32, 16_384, _) => 128,
            (_, _, 80) => 16,
            _ => 0,
        };
        if (128..=16_384).contains(&subject.row_len) {
            let memory = code.spills.max(code.stack);
            expect(memory <= spilled, format!("{memory} bytes of local memory"));
        }
        let registers = match subject.parameters {
            Parameters::ScaleShiftF32 => 72,
            _ => 64,
        };
        if name == "forward_resident" && subject.row_len <= 8192 {
            expect(
                code.registers <= registers,
                format!("{} registers", code.registers),
            );
        }
        // rstd is the one value of 32 bits; everything else moves 128 at a time.
        let narrow = |accesses: &[(u32, usize)]| {
            accesses
                .iter()
                .filter(|(bits, _)| *bits < 128)
                .map(|(_, count)| count)
                .sum::<usize>()
        };
        if name != "reduce" {
            expect(narrow(&code.loads) <= 2, format!("loads {:?}", code.loads));
        }
        if resident {
            expect(
                narrow(&code.stores) <= 1,
                format!("stores {:?}", code.stores),
            );
        }
        if name == "forward_resident" && subject.parameters == Parameters::None {
            let loads = counts(&code.loads, 128);
            let once = blueprint.vectors as usize;
            expect(
                loads == once,
                format!("x is read with {loads} loads, {once} are enough"),
            );
        }
        wrong
    }
}
