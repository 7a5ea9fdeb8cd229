//! The kernels that a device would be given, without the device: for reading the code that they
//! become.

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use cubecl::ir::{AddressType, DeviceProperties, ElemType, TargetProperties};
use cubecl::prelude::*;

use super::backward::{Columns, Wanted};
use super::kernels::{
    backward_resident::backward_resident, backward_streamed::backward_streamed, columns::columns,
    forward_resident::forward_resident, forward_streamed::forward_streamed, reduce::reduce,
};
use super::types::{row_class, statistic_type};
use super::{Blueprint, DeviceLimits, Pass, Reach, Routine, select};

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
        let class = row_class(self.row_len, self.x);
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
                        optional(self.gamma.is_some()),
                        optional(self.beta.is_some()),
                        BUFFER,
                        optional(with_rstd),
                        (),
                        (),
                        (),
                        (),
                        InputScalarCompilationArg::new(statistic),
                        InputScalarCompilationArg::new(statistic),
                        blueprint.vector_size,
                        blueprint,
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

    /// The kernels of the backward pass for these gradients.
    pub fn backward(&self, wanted: Wanted) -> Vec<Kernel> {
        let blueprint = self.blueprint(Pass::Backward);
        let by_columns = blueprint.routine == Routine::Looped;
        let sums = Wanted {
            dx: wanted.dx,
            dgamma: wanted.dgamma && !by_columns,
            dbeta: wanted.dbeta && !by_columns,
        };
        let mut kernels = vec![];
        if !by_columns || wanted.dx {
            kernels.push(self.walk(blueprint, sums));
        }
        if wanted.dgamma || wanted.dbeta {
            kernels.push(if by_columns {
                self.columns(blueprint, wanted)
            } else {
                self.reduce(blueprint, wanted)
            });
        }
        kernels
    }

    fn walk(&self, blueprint: Blueprint, wanted: Wanted) -> Kernel {
        let (statistic, gamma, _) = self.types();
        macro_rules! kernel {
            ($module:ident::$name:ident $(, $rows_a_cube:expr)?) => {
                Kernel {
                    name: stringify!($module),
                    blueprint,
                    definition: $module::$name::new(
                        self.settings(blueprint.units()),
                        self.device.clone(),
                        Arc::new(TargetProperties::default()),
                        BUFFER,
                        BUFFER,
                        BUFFER,
                        optional(self.gamma.is_some()),
                        optional(wanted.dx),
                        optional(wanted.dgamma),
                        optional(wanted.dbeta),
                        (),
                        $($rows_a_cube,)?
                        (),
                        (),
                        (),
                        (),
                        InputScalarCompilationArg::new(statistic),
                        blueprint.vector_size,
                        blueprint,
                        self.reach,
                        self.x,
                        statistic,
                        gamma,
                    )
                    .define(),
                }
            };
        }
        if blueprint.vectors > 0 {
            kernel!(backward_resident::BackwardResident)
        } else {
            kernel!(backward_streamed::BackwardStreamed, ())
        }
    }

    fn reduce(&self, blueprint: Blueprint, wanted: Wanted) -> Kernel {
        let (statistic, gamma, beta) = self.types();
        let limits = DeviceLimits::of(&self.device);
        let columns = Columns::of_partial_sums(self.row_len, statistic, &limits);
        Kernel {
            name: "reduce",
            blueprint,
            definition: reduce::Reduce::new(
                self.settings(columns.units()),
                self.device.clone(),
                Arc::new(TargetProperties::default()),
                optional(wanted.dgamma),
                optional(wanted.dbeta),
                optional(wanted.dgamma),
                optional(wanted.dbeta),
                (),
                (),
                columns.vector_size,
                columns.lanes,
                columns.row_groups,
                statistic,
                gamma,
                beta,
            )
            .define(),
        }
    }

    fn columns(&self, blueprint: Blueprint, wanted: Wanted) -> Kernel {
        let (statistic, gamma, beta) = self.types();
        let limits = DeviceLimits::of(&self.device);
        let columns = Columns::new(self.row_len, blueprint.vector_size, statistic, &limits);
        Kernel {
            name: "columns",
            blueprint,
            definition: columns::Columns::new(
                self.settings(columns.units()),
                self.device.clone(),
                Arc::new(TargetProperties::default()),
                BUFFER,
                BUFFER,
                BUFFER,
                optional(wanted.dgamma),
                optional(wanted.dbeta),
                (),
                (),
                (),
                (),
                columns.vector_size,
                columns.lanes,
                columns.row_groups,
                self.x,
                statistic,
                gamma,
                beta,
            )
            .define(),
        }
    }
}
