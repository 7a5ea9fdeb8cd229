//! The code of the variants: a residual, a gate, gamma of several rows, a factor around 1, rounding at
//! every step, rows side by side.

use cubecl::ir::{ElemType, FloatKind};
use fused_norm_cube_tests::nvidia::{Code, assemble, assembler, device, mathematics, ptx};
use fused_norm_kernels::cube::offline::{Kernel, Offline};
use fused_norm_kernels::cube::{Form, OperandKind, Reach, Wanted};
use fused_norm_kernels::{GateOrder, Rounding};

const KINDS: [(&str, ElemType); 2] = [
    ("f32", ElemType::Float(FloatKind::F32)),
    ("bf16", ElemType::Float(FloatKind::BF16)),
];
const ROW_LENS: [usize; 4] = [64, 128, 1024, 4096];
const PROCESSORS: u32 = 132;

/// Name, form, and whether there is a gamma.
fn forms() -> Vec<(&'static str, Form, bool)> {
    let plain = Form::default();
    let with = |operand| Form { operand, ..plain };
    let gate = |order| with(OperandKind::Gate(order));
    let heads = Form {
        periodic: true,
        ..plain
    };
    let conventions = Form {
        zero_centered: true,
        rounding: Rounding::BeforeGamma,
        ..plain
    };
    vec![
        ("add alone", with(OperandKind::Residual), false),
        ("add", with(OperandKind::Residual), true),
        ("gate after, alone", gate(GateOrder::AfterNorm), false),
        ("gate after", gate(GateOrder::AfterNorm), true),
        ("gate before", gate(GateOrder::BeforeNorm), true),
        ("heads", heads, true),
        ("conventions", conventions, true),
    ]
}

struct Subject {
    arch: u32,
    kind: &'static str,
    elem: ElemType,
    row_len: usize,
    name: &'static str,
    form: Form,
    gamma: bool,
}

impl Subject {
    fn is_gated(&self) -> bool {
        matches!(self.form.operand, OperandKind::Gate(_))
    }

    fn offline(&self, form: Form) -> Offline {
        Offline {
            device: device(PROCESSORS),
            row_len: self.row_len,
            reach: Reach::Row,
            x: self.elem,
            gamma: self.gamma.then_some(self.elem),
            beta: None,
            form,
        }
    }

    /// Forward; and backward, which a residual and rounding do not change.
    fn kernels(&self) -> Vec<Kernel> {
        let wanted = Wanted {
            dx: true,
            dgate: self.is_gated(),
            dgamma: self.gamma,
            dbeta: false,
        };
        let mut kernels = vec![self.offline(self.form).forward(true)];
        if self.form.operand != OperandKind::Residual {
            let backward = Form {
                rounding: Rounding::Once,
                ..self.form
            };
            kernels.extend(self.offline(backward).backward(wanted));
        }
        kernels
    }
}

fn subjects() -> Vec<Subject> {
    let mut subjects = vec![];
    for arch in [80, 90] {
        for (kind, elem) in KINDS {
            for row_len in ROW_LENS {
                for (name, form, gamma) in forms() {
                    subjects.push(Subject {
                        arch,
                        kind,
                        elem,
                        row_len,
                        name,
                        form,
                        gamma,
                    });
                }
            }
        }
    }
    subjects
}

#[test]
fn every_variant() {
    let ptxas = match assembler() {
        Ok(ptxas) => ptxas,
        Err(reason) => return eprintln!("skipped: {reason}"),
    };
    let gates = mathematics();
    if let Err(reason) = &gates {
        eprintln!("skipped: gates: {reason}");
    }
    println!(
        "| sm | type | row_len | variant | kernel | units | lanes × vectors | registers | spills | \
         loads | stores |\n|---|---|---|---|---|---|---|---|---|---|---|"
    );
    let mut failures = vec![];
    for subject in subjects() {
        if subject.is_gated() && gates.is_err() {
            continue;
        }
        for kernel in subject.kernels() {
            let (name, units) = (kernel.name, kernel.units());
            let blueprint = kernel.blueprint;
            let code = assemble(&ptxas, &ptx(kernel, subject.arch), subject.arch);
            println!(
                "| {} | {} | {} | {} | {name} | {} | {} × {} | {} | {} | {:?} | {:?} |",
                subject.arch,
                subject.kind,
                subject.row_len,
                subject.name,
                units,
                blueprint.lanes,
                blueprint.vectors,
                code.registers,
                code.spills,
                code.loads,
                code.stores,
            );
            let place = format!(
                "{name} sm_{} {} {} {}",
                subject.arch, subject.kind, subject.row_len, subject.name
            );
            let wrong = wrong(&subject, name, blueprint.vectors as usize, &code);
            failures.extend(wrong.iter().map(|wrong| format!("{place}: {wrong}")));
            if name != "reduce" && subject.row_len <= 128 && blueprint.row_groups < 2 {
                failures.push(format!("{place}: one row a cube: {blueprint:?}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// What is wrong with the code of a kernel in which a lane holds so many vectors of a row.
fn wrong(subject: &Subject, name: &str, vectors: usize, code: &Code) -> Vec<String> {
    let mut wrong = vec![];
    // As for the plain kernels on sm_80: a little, for a higher occupancy. So with a gate on sm_90.
    let gated_backward = subject.is_gated() && name == "backward_resident";
    let spilled = if subject.arch == 80 || gated_backward {
        16
    } else {
        0
    };
    let memory = code.spills.max(code.stack);
    if memory > spilled {
        wrong.push(format!("{memory} bytes of local memory"));
    }
    if name == "reduce" {
        return wrong;
    }
    let count = |accesses: &[(u32, usize)], fits: fn(u32) -> bool| {
        let fitting = accesses.iter().filter(|(bits, _)| fits(*bits));
        fitting.map(|(_, count)| count).sum::<usize>()
    };
    let narrow = |accesses| count(accesses, |bits| bits < 128);
    let wide = |accesses| count(accesses, |bits| bits == 128);
    // rstd is the one value of 32 bits; everything else moves 128 at a time.
    if narrow(&code.loads) > 2 {
        wrong.push(format!("loads {:?}", code.loads));
    }
    if narrow(&code.stores) > 1 {
        wrong.push(format!("stores {:?}", code.stores));
    }
    if name == "forward_resident" {
        let inputs = subject.form.inputs() + usize::from(subject.gamma);
        if wide(&code.loads) != inputs * vectors {
            wrong.push(format!(
                "loads {:?}, {inputs} × {vectors} are enough",
                code.loads
            ));
        }
        let outputs = 1 + usize::from(subject.form.operand == OperandKind::Residual);
        if wide(&code.stores) != outputs * vectors {
            wrong.push(format!(
                "stores {:?}, {outputs} × {vectors} are enough",
                code.stores
            ));
        }
    }
    wrong
}

/// Rows side by side are read in whole vectors of neighbours, where there are enough of them.
#[test]
fn rows_side_by_side() {
    let ptxas = match assembler() {
        Ok(ptxas) => ptxas,
        Err(reason) => return eprintln!("skipped: {reason}"),
    };
    let wanted = Wanted {
        dx: true,
        dgate: false,
        dgamma: true,
        dbeta: true,
    };
    for (kind, elem) in KINDS {
        for row_len in [3, 64, 512] {
            let offline = Offline {
                device: device(PROCESSORS),
                row_len,
                reach: Reach::Row,
                x: elem,
                gamma: Some(elem),
                beta: Some(elem),
                form: Form::default(),
            };
            for kernel in offline.interleaved(1024, wanted) {
                let (name, units) = (kernel.name, kernel.units());
                let code = assemble(&ptxas, &ptx(kernel, 90), 90);
                println!(
                    "| 90 | {kind} | {row_len} | side by side | {name} | {units} | {code:?} |"
                );
                assert_eq!(units, 256, "{name} {kind} {row_len}");
                assert_eq!((code.spills, code.stack), (0, 0), "{name} {kind} {row_len}");
                // gamma, beta and their gradients are scalars; rows are not.
                let wide = |accesses: &[(u32, usize)]| {
                    let rows = accesses.iter().filter(|(bits, _)| *bits > 32);
                    rows.clone().count() > 0 && rows.clone().all(|(bits, _)| *bits == 128)
                };
                assert!(wide(&code.loads), "{name} {kind} {row_len}: {code:?}");
                if name != "parameters_interleaved" {
                    assert!(wide(&code.stores), "{name} {kind} {row_len}: {code:?}");
                }
            }
        }
    }
}
