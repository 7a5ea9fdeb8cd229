//! What do the kernels take without Burn, its queue and its graph?

use cubecl::server::Handle;
use fused_norm_cube_tests::{elem, values};
use fused_norm_kernels::cube::{
    self, Affine, Backward, Forward, Mapping, Operand, Parameter, Rows, Wanted,
};

use crate::device::Gpu;
use crate::fill::{self, Tail};
use crate::shapes::{Pass, Shape};

/// Name in the table.
pub const NAME: &str = "ours, kernels only";

/// A call by its number; it returns the buffers that it writes.
pub type Call = Box<dyn FnMut(usize) -> Vec<Handle>>;

/// The call of a pass, with everything made that it reads.
///
/// # Errors
///
/// If the kernels refuse the shape.
pub fn prepare(gpu: &Gpu, shape: Shape, pass: Pass) -> Result<Call, String> {
    let problem = shape.problem()?;
    let client = gpu.client.clone();
    let activations = || {
        let fill = |_| fill::pattern(&client, shape.kind, shape.elements());
        (0..shape.rotated())
            .map(fill)
            .map(|handle| Rows::dense(handle, elem(shape.kind), shape.row_len))
    };
    let gamma = Tail {
        first: 0,
        common: 1.0,
        even: 1.0,
        odd: 1.0,
    };
    let affine = Affine::Scale {
        gamma: Parameter {
            handle: fill::tail(&client, shape.kind, shape.row_len, gamma),
            elem: elem(shape.kind),
        },
    };
    let forward = |x: Rows, with_rstd: bool| Forward {
        x,
        operand: Operand::None,
        affine: affine.clone(),
        with_rstd,
        in_place: false,
        mapping: Mapping::default(),
    };
    if pass == Pass::Forward {
        let inputs: Vec<Forward> = activations().map(|x| forward(x, false)).collect();
        return Ok(Box::new(move |number| {
            let args = inputs[number % inputs.len()].clone();
            let normalised = expect(cube::forward(&client, &problem, args));
            vec![normalised.y]
        }));
    }
    let mut inputs: Vec<Backward> = Vec::new();
    for (x, dy) in activations().zip(activations()) {
        let normalised = cube::forward(&client, &problem, forward(x.clone(), true))
            .map_err(|error| error.to_string())?;
        inputs.push(Backward {
            dy,
            x,
            gate: None,
            rstd: normalised.rstd.ok_or("no rstd")?,
            affine: affine.clone(),
            wanted: Wanted {
                dx: true,
                dgamma: true,
                ..Wanted::default()
            },
            mapping: Mapping::default(),
        });
    }
    Ok(Box::new(move |number| {
        let args = inputs[number % inputs.len()].clone();
        let gradients = expect(cube::backward(&client, &problem, args));
        gradients.dx.into_iter().chain(gradients.dgamma).collect()
    }))
}

/// The kernels have accepted the same arguments before; otherwise the line of the table fails.
fn expect<T>(result: Result<T, fused_norm_kernels::Error>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}

/// The first elements of every buffer are there and finite.
///
/// # Errors
///
/// What is wrong with which values.
pub fn verify(gpu: &Gpu, shape: Shape, buffers: &[Handle]) -> Result<(), String> {
    for buffer in buffers {
        let row = (shape.row_len * elem(shape.kind).size()) as u64;
        let first = buffer.clone().offset_end(buffer.size_in_used() - row);
        let bytes = gpu
            .client
            .read_one(first)
            .map_err(|error| error.to_string())?;
        let values = values(shape.kind, &bytes);
        if !values.iter().all(|value| value.is_finite()) || values.iter().all(|value| *value == 0.0)
        {
            return Err(format!(
                "row 0 starts with {:?}",
                &values[..values.len().min(4)]
            ));
        }
    }
    Ok(())
}
