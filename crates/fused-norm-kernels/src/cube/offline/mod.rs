//! The kernels that a device would be given, without the device: for reading the code that they
//! become.

mod backward;
mod interleaved;

use alloc::sync::Arc;

use cubecl::ir::{AddressType, DeviceProperties, ElemType, TargetProperties};
use cubecl::prelude::*;

use super::kernels::{forward_resident::forward_resident, forward_streamed::forward_streamed};
use super::types::{row_class, statistic_type};
use super::{Blueprint, DeviceLimits, Form, Pass, Reach, select};

/// A class of problems on a device.
#[derive(Debug, Clone)]
pub struct Offline {
    /// The device.
    pub device: Arc<DeviceProperties>,
    /// Elements of a row.
    pub row_len: usize,
    /// What the statistic reads of a row.
    pub reach: Reach,
    /// Type of x.
    pub x: ElemType,
    /// Type of gamma, if there is one.
    pub gamma: Option<ElemType>,
    /// Type of beta, if there is one.
    pub beta: Option<ElemType>,
    /// What is computed. The kernels take it as it is: [`Form::of`] leaves out what makes no
    /// difference to a problem.
    pub form: Form,
}

/// One kernel.
pub struct Kernel {
    /// Its name.
    pub name: &'static str,
    /// How it maps rows to units.
    pub blueprint: Blueprint,
    /// What a compiler takes.
    pub definition: KernelDefinition,
}

impl Kernel {
    /// Units of a cube that it is launched with: not the blueprint's where it sums columns.
    pub fn units(&self) -> u32 {
        self.definition.settings.cube_dim.num_elems()
    }
}

type OptionArg<T> = ComptimeOptionCompilationArg<T>;
const BUFFER: BufferCompilationArg = BufferCompilationArg { inplace: None };

fn optional<T: LaunchArg<CompilationArg = BufferCompilationArg>>(there: bool) -> OptionArg<T> {
    if there {
        OptionArg::Some(BUFFER)
    } else {
        OptionArg::None
    }
}

impl Offline {
    fn blueprint(&self, pass: Pass) -> Blueprint {
        let class = row_class(self.row_len, self.x).with_inputs(self.form.inputs());
        select(&class, pass, &DeviceLimits::of(&self.device))
    }

    fn settings(&self, units: u32) -> KernelSettings {
        KernelSettings::new(
            *CubeDim::new_1d(units),
            ExecutionMode::Unchecked,
            AddressType::U32,
        )
    }

    fn types(&self) -> (ElemType, ElemType, ElemType) {
        let statistic = statistic_type(self.x);
        (
            statistic,
            self.gamma.unwrap_or(statistic),
            self.beta.unwrap_or(statistic),
        )
    }

    /// The kernel of the forward pass, with or without rstd as an output.
    pub fn forward(&self, with_rstd: bool) -> Kernel {
        let blueprint = self.blueprint(Pass::Forward);
        let (statistic, gamma, beta) = self.types();
        macro_rules! kernel {
            ($module:ident::$name:ident) => {
                Kernel {
                    name: stringify!($module),
                    blueprint,
                    definition: $module::$name::new(
                        self.settings(blueprint.units()),
                        self.device.clone(),
                        Arc::new(TargetProperties::default()),
                        BUFFER,
                        optional(self.form.has_operand()),
                        optional(self.gamma.is_some()),
                        optional(self.beta.is_some()),
                        BUFFER,
                        optional(self.form.adds()),
                        optional(with_rstd),
                        (),
                        (),
                        (),
                        (),
                        (),
                        (),
                        InputScalarCompilationArg::new(statistic),
                        InputScalarCompilationArg::new(statistic),
                        InputScalarCompilationArg::new(statistic),
                        InputScalarCompilationArg::new(statistic),
                        blueprint.vector_size,
                        blueprint,
                        self.form,
                        self.reach,
                        self.x,
                        statistic,
                        gamma,
                        beta,
                    )
                    .define(),
                }
            };
        }
        if blueprint.vectors > 0 {
            kernel!(forward_resident::ForwardResident)
        } else {
            kernel!(forward_streamed::ForwardStreamed)
        }
    }
}
