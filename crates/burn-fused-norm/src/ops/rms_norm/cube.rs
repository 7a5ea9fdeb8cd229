//! RMSNorm on the CubeCL runtimes: the default bodies, in primitive tensor operations.

use burn_cubecl::CubeBackend;

use super::RmsNormOps;

impl RmsNormOps for CubeBackend {}
