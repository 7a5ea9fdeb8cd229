//! Every CubeCL routine, forced: is the one that is selected the fastest?
//!
//! `cargo bench -p fused-norm-benches --features cpu --bench routines`, with the features of other
//! devices for them; `NORM_DEVICES` names some of them. Without Burn: the kernels, their launch and the
//! wait for the device.

use cubecl::client::Client;
use cubecl::ir::{ElemType, FloatKind as CubeKind};
use fused_norm_benches::cases::{EPSILON, strict, values, verify_row};
use fused_norm_benches::contest::{Contender, Score, contest};
use fused_norm_benches::record::{Results, Work};
use fused_norm_cube_tests::devices;
use fused_norm_kernels::Problem;
use fused_norm_kernels::cube::{
    Affine, Backward, DeviceLimits, Forward, Mapping, Operand, Parameter, Pass, Routine, Rows,
    Wanted, backward, forward, prepare, row_class,
};
use fused_norm_testkit::FloatKind;

const F32: ElemType = ElemType::Float(CubeKind::F32);
const SHAPES: [[usize; 2]; 5] = [
    [65536, 64],
    [4096, 1024],
    [1024, 4096],
    [256, 16384],
    [64, 65536],
];

fn main() -> Result<(), csv::Error> {
    let mut results = Results::new("routines");
    for (name, device) in devices() {
        for shape in SHAPES {
            for (pass, pass_name, activations) in [
                (Pass::Forward, "forward", 2.0),
                (Pass::Backward, "backward", 3.0),
            ] {
                let work = Work {
                    device: name,
                    kind: "f32",
                    pass: pass_name,
                    shape,
                    size: 4,
                    activations,
                };
                results.run(work, || routines(&device.client(), shape, pass));
            }
        }
    }
    results.finish()
}

/// The inputs of both passes, in a device's buffers.
struct Inputs {
    problem: Problem,
    forward: Forward,
    backward: Backward,
}

impl Inputs {
    fn new(client: &Client, shape: [usize; 2]) -> Self {
        let [rows, row_len] = shape;
        let problem = Problem::new(rows, row_len, row_len, EPSILON).expect("a valid problem");
        let upload = |values: &[f32]| {
            let bytes: Vec<u8> = values
                .iter()
                .flat_map(|value| value.to_ne_bytes())
                .collect();
            client.create_from_slice(&bytes)
        };
        let activation = |values: &[f32]| Rows::dense(upload(values), F32, row_len);
        let x = values(shape);
        let dy: Vec<f32> = x.iter().rev().copied().collect();
        let affine = Affine::Scale {
            gamma: Parameter {
                handle: upload(&vec![1.0; row_len]),
                elem: F32,
            },
        };
        let args = Forward {
            x: activation(&x),
            operand: Operand::None,
            affine: affine.clone(),
            with_rstd: true,
            in_place: false,
            mapping: Mapping::default(),
        };
        let normalised = forward(client, &problem, args.clone()).expect("fitting buffers");
        let wide = |values: &[f32]| values.iter().copied().map(f64::from).collect::<Vec<f64>>();
        let y: Vec<f32> = client
            .read_one_unchecked(normalised.y)
            .chunks_exact(4)
            .take(row_len)
            .map(|bytes| f32::from_ne_bytes(bytes.try_into().expect("four bytes")))
            .collect();
        verify_row(
            &wide(&x[..row_len]),
            &wide(&y),
            row_len,
            strict(FloatKind::F32),
        );
        let backward = Backward {
            dy: activation(&dy),
            x: args.x.clone(),
            rstd: normalised.rstd.expect("it was asked for"),
            affine,
            wanted: Wanted {
                dx: true,
                dgamma: true,
                dbeta: false,
                dgate: false,
            },
            gate: None,
            mapping: Mapping::default(),
        };
        Self {
            problem,
            forward: args,
            backward,
        }
    }

    /// One pass, and the wait for it.
    fn run(&self, client: &Client, pass: Pass, routine: Option<Routine>) {
        let mapping = Mapping {
            routine,
            limits: None,
        };
        match pass {
            Pass::Forward => {
                let args = Forward {
                    mapping,
                    ..self.forward.clone()
                };
                let _kept = forward(client, &self.problem, args).expect("it ran before");
                wait(client);
            }
            Pass::Backward => {
                let args = Backward {
                    mapping,
                    ..self.backward.clone()
                };
                let _kept = backward(client, &self.problem, args).expect("it ran before");
                wait(client);
            }
        }
    }
}

fn wait(client: &Client) {
    cubecl::future::block_on(client.sync()).expect("the device finishes");
}

fn routines(client: &Client, shape: [usize; 2], pass: Pass) -> Vec<Score> {
    let inputs = Inputs::new(client, shape);
    let limits = DeviceLimits::of(client.properties());
    let class = row_class(shape[1], F32);
    let forced = [
        ("plane", Routine::Plane),
        ("cube", Routine::Cube),
        ("looped", Routine::Looped),
        ("unit", Routine::Unit),
    ];
    let possible = forced
        .into_iter()
        .filter(|(_, routine)| prepare(*routine, &class, pass, &limits).is_some())
        .map(|(name, routine)| (name, Some(routine)));
    let inputs = &inputs;
    let all = [("selected", None)].into_iter().chain(possible);
    contest(
        all.map(|(name, routine)| Contender::new(name, move || inputs.run(client, pass, routine)))
            .collect(),
    )
}
