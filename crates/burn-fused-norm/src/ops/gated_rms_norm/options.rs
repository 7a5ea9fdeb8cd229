use burn::serde::{Deserialize, Serialize};

/// On which side of the normalisation a gate is: with `silu(v) = v / (1 + exp(−v))`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(crate = "burn::serde")]
pub enum GateOrder {
    /// `y = norm(x) · silu(gate)` (Qwen3-Next)
    #[default]
    AfterNorm,
    /// `y = norm(x · silu(gate))` (Mamba-2)
    BeforeNorm,
}

impl From<GateOrder> for fused_norm_kernels::GateOrder {
    fn from(order: GateOrder) -> Self {
        match order {
            GateOrder::AfterNorm => Self::AfterNorm,
            GateOrder::BeforeNorm => Self::BeforeNorm,
        }
    }
}
