//! The kernels of rows that lie side by side.

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use cubecl::ir::TargetProperties;
use cubecl::prelude::*;

use super::{BUFFER, Kernel, Offline, optional};
use crate::Problem;
use crate::cube::kernels::interleaved::{
    backward::backward_interleaved, forward::forward_interleaved,
    parameters::parameters_interleaved,
};
use crate::cube::sides::Sides;
use crate::cube::{Blueprint, DeviceLimits, Routine, Wanted};

impl Offline {
    /// The kernels of both passes over dense groups of `inner` rows, with rstd as an output and for
    /// these gradients.
    pub fn interleaved(&self, inner: usize, wanted: Wanted) -> Vec<Kernel> {
        let limits = DeviceLimits::of(&self.device);
        let problem = Problem::new(inner, self.row_len, self.row_len, 1.0).expect("not empty");
        let pitches = [self.row_len * inner];
        let sides = Sides::new(&problem, self.x, inner, &pitches, &limits);
        let mut kernels = vec![self.interleaved_forward(&sides)];
        if wanted.dx {
            kernels.push(self.interleaved_backward(&sides));
        }
        if wanted.dgamma || wanted.dbeta {
            kernels.push(self.interleaved_parameters(&sides, wanted));
        }
        kernels
    }

    fn interleaved_forward(&self, sides: &Sides) -> Kernel {
        let (statistic, gamma, beta) = self.types();
        Kernel {
            name: "forward_interleaved",
            blueprint: walk(sides),
            definition: forward_interleaved::ForwardInterleaved::new(
                self.settings(sides.units()),
                self.device.clone(),
                Arc::new(TargetProperties::default()),
                BUFFER,
                optional(self.gamma.is_some()),
                optional(self.beta.is_some()),
                BUFFER,
                optional(true),
                (),
                (),
                (),
                (),
                (),
                InputScalarCompilationArg::new(statistic),
                InputScalarCompilationArg::new(statistic),
                InputScalarCompilationArg::new(statistic),
                InputScalarCompilationArg::new(statistic),
                sides.vector_size,
                sides.lanes,
                sides.groups,
                self.form,
                self.x,
                statistic,
                gamma,
                beta,
            )
            .define(),
        }
    }

    fn interleaved_backward(&self, sides: &Sides) -> Kernel {
        let (statistic, gamma, _) = self.types();
        Kernel {
            name: "backward_interleaved",
            blueprint: walk(sides),
            definition: backward_interleaved::BackwardInterleaved::new(
                self.settings(sides.units()),
                self.device.clone(),
                Arc::new(TargetProperties::default()),
                BUFFER,
                BUFFER,
                BUFFER,
                optional(self.gamma.is_some()),
                BUFFER,
                (),
                (),
                (),
                (),
                (),
                (),
                InputScalarCompilationArg::new(statistic),
                sides.vector_size,
                sides.lanes,
                sides.groups,
                self.form,
                self.x,
                statistic,
                gamma,
            )
            .define(),
        }
    }

    fn interleaved_parameters(&self, sides: &Sides, wanted: Wanted) -> Kernel {
        let (statistic, gamma, beta) = self.types();
        Kernel {
            name: "parameters_interleaved",
            blueprint: sides.column,
            definition: parameters_interleaved::ParametersInterleaved::new(
                self.settings(sides.column.units()),
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
                (),
                sides.vector_size,
                sides.column,
                self.x,
                statistic,
                gamma,
                beta,
            )
            .define(),
        }
    }
}

/// What a walk down rows side by side has in common with a blueprint: a lane a vector of rows.
fn walk(sides: &Sides) -> Blueprint {
    Blueprint {
        routine: Routine::Looped,
        vector_size: sides.vector_size,
        lanes: sides.lanes,
        row_groups: sides.groups,
        segment: 1,
        vectors: 0,
        exact: false,
        held: false,
    }
}
