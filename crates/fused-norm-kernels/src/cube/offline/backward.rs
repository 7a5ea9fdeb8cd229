//! The kernels of a backward pass.

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use cubecl::ir::TargetProperties;
use cubecl::prelude::*;

use super::{BUFFER, Kernel, Offline, optional};
use crate::cube::kernels::{
    backward_resident::backward_resident, backward_streamed::backward_streamed, columns::columns,
    reduce::reduce,
};
use crate::cube::plan::Columns;
use crate::cube::{Blueprint, DeviceLimits, Pass, Routine, Wanted};

impl Offline {
    /// The kernels of the backward pass for these gradients.
    pub fn backward(&self, wanted: Wanted) -> Vec<Kernel> {
        let blueprint = self.blueprint(Pass::Backward);
        let by_columns = blueprint.routine == Routine::Looped;
        let sums = Wanted {
            dgamma: wanted.dgamma && !by_columns,
            dbeta: wanted.dbeta && !by_columns,
            ..wanted
        };
        let mut kernels = vec![];
        if !by_columns || wanted.dx || wanted.dgate {
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
        let (statistic, gamma, beta) = self.types();
        let beta_read = self.beta.is_some() && wanted.dgate && self.form.gates_after();
        let beta = if beta_read { beta } else { statistic };
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
                        optional(self.form.gates()),
                        BUFFER,
                        optional(self.gamma.is_some()),
                        optional(beta_read),
                        optional(wanted.dx),
                        optional(wanted.dgate),
                        optional(wanted.dgamma),
                        optional(wanted.dbeta),
                        (),
                        $($rows_a_cube,)?
                        (),
                        (),
                        (),
                        (),
                        (),
                        (),
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
                optional(self.form.gates()),
                BUFFER,
                optional(wanted.dgamma),
                optional(wanted.dbeta),
                (),
                (),
                (),
                (),
                (),
                (),
                columns.vector_size,
                columns.lanes,
                columns.row_groups,
                self.form,
                self.x,
                statistic,
                gamma,
                beta,
            )
            .define(),
        }
    }
}
