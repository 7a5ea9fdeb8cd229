//! One optimiser step of the example's Transformer block with each norm, and the norm's share of it.
//!
//! `cargo bench -p fused-norm-benches --bench train_step`, as `forward`.

use burn::optim::{GradientsParams, ModuleOptimizer};
use burn::tensor::{Device, Distribution, Tensor};
use fused_norm_benches::contest::{Contender, Score, contest};
use fused_norm_benches::record::{Results, Work};
use pre_norm_transformer::block::{Block, BlockConfig, STD, Stream};
use pre_norm_transformer::norm::{Norm, NormKind};
use pre_norm_transformer::optimizer::optimizer;
use pre_norm_transformer::rotary::Rotary;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const BATCH: usize = 8;
const CONTEXT: usize = 256;
const HEAD_SIZE: usize = 32;
/// The p of pRMSNorm.
const PARTIAL: f64 = 0.0625;
const KINDS: [(&str, NormKind); 4] = [
    ("rms", NormKind::Rms),
    ("prms", NormKind::Prms),
    ("layer", NormKind::Layer),
    ("burn-rms", NormKind::BurnRms),
];

fn main() -> Result<(), csv::Error> {
    let mut results = Results::new("train_step");
    for d_model in [128, 256, 512] {
        let work = |pass| Work {
            device: "flex",
            kind: "f32",
            pass,
            shape: [BATCH * CONTEXT, d_model],
            size: 4,
            activations: 5.0,
        };
        results.run(work("step"), || steps(d_model));
        results.run(work("two norms"), || norms(d_model));
    }
    results.finish()
}

fn device() -> Device {
    Device::flex().autodiff()
}

fn input(d_model: usize, device: &Device) -> Tensor<3> {
    device.seed(1);
    Tensor::random(
        [BATCH, CONTEXT, d_model],
        Distribution::Normal(0.0, 1.0),
        device,
    )
}

/// Forward, backward and the update of every parameter.
fn steps(d_model: usize) -> Vec<Score> {
    let device = device();
    let x = input(d_model, &device);
    let rotary = Rotary::new(CONTEXT, HEAD_SIZE, &device);
    contest(
        KINDS
            .into_iter()
            .map(|(name, norm)| {
                let config = BlockConfig {
                    d_model,
                    heads: d_model / HEAD_SIZE,
                    dropout: 0.0,
                    norm,
                    partial: Some(PARTIAL),
                    fuse_add: true,
                    qk_norm: false,
                    residual_std: STD,
                };
                let mut step = Step {
                    block: Some(config.init(&device)),
                    optimizer: optimizer(0.1),
                };
                let (x, rotary) = (&x, &rotary);
                Contender::new(name, move || step.run(x.clone(), rotary))
            })
            .collect(),
    )
}

struct Step {
    block: Option<Block>,
    optimizer: ModuleOptimizer,
}

impl Step {
    fn run(&mut self, x: Tensor<3>, rotary: &Rotary) {
        let block = self.block.take().expect("the last step has put it back");
        let y = block.forward(Stream::new(x), rotary).sum();
        let loss = y.clone().mul(y).mean();
        let gradients = GradientsParams::from_grads(loss.backward(), &block);
        self.block = Some(self.optimizer.step(1e-4, block, gradients));
    }
}

/// What the two norms of the block take, forward and backward.
fn norms(d_model: usize) -> Vec<Score> {
    let device = device();
    let x = input(d_model, &device).require_grad();
    contest(
        KINDS
            .into_iter()
            .map(|(name, kind)| {
                let norms = [(); 2].map(|()| Norm::new(kind, Some(PARTIAL), d_model, &device));
                let x = &x;
                Contender::new(name, move || {
                    norms
                        .each_ref()
                        .map(|norm| norm.forward(x.clone()).backward())
                })
            })
            .collect(),
    )
}
