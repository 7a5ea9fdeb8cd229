//! The kernels of a device, with a routine of our choice, as a subject for the judge.

use cubecl::Device;
use cubecl::client::Client;
use cubecl::server::Handle;
use fused_norm_kernels::Problem;
use fused_norm_kernels::cube::{
    self, Affine, Backward, Forward, Mapping, Operand, Parameter, Pass, Routine, Rows, Wanted,
};
use fused_norm_testkit::{Case, FloatKind, Outcome, Property, Subject, Values, Want, properties};

use crate::numbers::{bytes, elem, values};

/// What depends on the mapping to units. Which gradients are wanted, and what is tracked, is the
/// conformance suite's to judge: each combination is a kernel more to compile.
const OF_THE_MAPPING: [&str; 8] = [
    "forward values",
    "dx values",
    "dgamma values",
    "dbeta values",
    "deterministic",
    "batch invariance",
    "rows are independent",
    "prefix independence",
];

/// The properties that a forced routine is asked for.
///
/// # Panics
///
/// If one of them has another name.
pub fn of_the_mapping() -> Vec<Property> {
    let mut properties = properties();
    properties.retain(|property| OF_THE_MAPPING.contains(&property.name));
    assert_eq!(properties.len(), OF_THE_MAPPING.len());
    properties
}

/// A device, and the routine to take: the selected one where `None`.
pub struct Kernels {
    /// Name of the device.
    pub name: &'static str,
    /// The device.
    pub client: Client,
    /// The routine to force, and the limits to stay within.
    pub mapping: Mapping,
}

struct Inputs {
    problem: Problem,
    x: Rows,
    dy: Rows,
    affine: Affine,
}

impl Kernels {
    /// The kernels of `device`: with the routine, or the selected one, and with no more bytes of
    /// shared memory a cube than `NORM_SHARED_MEMORY` says, if it says so.
    ///
    /// # Panics
    ///
    /// If `NORM_SHARED_MEMORY` is no number.
    pub fn new(name: &'static str, device: &Device, routine: Option<Routine>) -> Self {
        let client = device.client();
        let limits = std::env::var("NORM_SHARED_MEMORY").ok().map(|bytes| {
            let mut limits = cube::DeviceLimits::of(client.properties());
            limits.max_shared_memory = bytes
                .parse()
                .unwrap_or_else(|_| panic!("NORM_SHARED_MEMORY={bytes} is no number of bytes"));
            limits
        });
        Self {
            name,
            client,
            mapping: Mapping { routine, limits },
        }
    }

    /// The routine cannot take the rows of this case here.
    pub fn refuses(&self, case: &Case) -> bool {
        let Some(routine) = self.mapping.routine else {
            return false;
        };
        let limits = self.mapping.limits_on(&self.client);
        let class = cube::row_class(case.row_len(), elem(case.x_kind));
        [Pass::Forward, Pass::Backward]
            .into_iter()
            .any(|pass| cube::prepare(routine, &class, pass, &limits).is_none())
    }

    fn inputs(&self, case: &Case) -> Result<Inputs, String> {
        let upload = |kind, values: Vec<f64>| self.client.create_from_slice(&bytes(kind, &values));
        let parameter = |kind, values: Option<Vec<f64>>| {
            values.map(|values| Parameter {
                handle: upload(kind, values),
                elem: elem(kind),
            })
        };
        let gamma = parameter(case.gamma_kind, case.gamma());
        let beta = parameter(case.beta_kind, case.beta());
        let rows = |values| {
            Rows::dense(
                upload(case.x_kind, values),
                elem(case.x_kind),
                case.row_len(),
            )
        };
        Ok(Inputs {
            problem: Problem::new(case.rows(), case.row_len(), case.stat_len(), case.epsilon)
                .map_err(|error| error.to_string())?,
            x: rows(case.x()),
            dy: rows(case.dy()),
            affine: match (gamma, beta) {
                (Some(gamma), Some(beta)) => Affine::ScaleShift { gamma, beta },
                (Some(gamma), None) => Affine::Scale { gamma },
                _ => Affine::None,
            },
        })
    }

    fn read(&self, kind: FloatKind, handle: Handle) -> Values {
        values(kind, &self.client.read_one_unchecked(handle))
    }

    fn forward(&self, inputs: &Inputs, with_rstd: bool) -> Result<cube::Normalised, String> {
        let args = Forward {
            x: inputs.x.clone(),
            operand: Operand::None,
            affine: inputs.affine.clone(),
            with_rstd,
            in_place: false,
            mapping: self.mapping,
        };
        cube::forward(&self.client, &inputs.problem, args).map_err(|error| error.to_string())
    }
}

impl Subject for Kernels {
    fn name(&self) -> String {
        match self.mapping.routine {
            Some(routine) => format!("{} {routine:?}", self.name),
            None => self.name.into(),
        }
    }

    fn supports(&self, kind: FloatKind) -> bool {
        cube::supports(&self.client, elem(kind))
    }

    fn run(&self, case: &Case, want: Want) -> Result<Outcome, String> {
        let inputs = self.inputs(case)?;
        let normalised = self.forward(&inputs, want.any())?;
        let [mut dx, mut dgamma, mut dbeta] = [None, None, None];
        if let Some(rstd) = normalised.rstd {
            let wanted = Wanted {
                dx: want.x,
                dgate: false,
                dgamma: want.gamma,
                dbeta: want.beta,
            };
            let args = Backward {
                dy: inputs.dy.clone(),
                x: inputs.x.clone(),
                gate: None,
                rstd,
                affine: inputs.affine.clone(),
                wanted,
                mapping: self.mapping,
            };
            let gradients = cube::backward(&self.client, &inputs.problem, args)
                .map_err(|error| error.to_string())?;
            let read = |handle: Option<Handle>, kind| Some((self.read(kind, handle?), kind));
            dx = read(gradients.dx, case.x_kind);
            dgamma = read(gradients.dgamma, case.gamma_kind);
            dbeta = read(gradients.dbeta, case.beta_kind);
        }
        let y = self.read(case.x_kind, normalised.y);
        let x_after = self.client.read_one_unchecked(inputs.x.handle);
        Ok(Outcome {
            y,
            y_kind: case.x_kind,
            sum: None,
            dx,
            dsecond: None,
            dgamma,
            dbeta,
            inputs_unchanged: *x_after == bytes(case.x_kind, &case.x())[..],
        })
    }
}
