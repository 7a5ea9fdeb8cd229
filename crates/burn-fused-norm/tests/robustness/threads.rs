//! One module, several threads.

use burn::module::Param;
use burn::tensor::Device;
use burn_fused_norm::{RmsNorm, RmsNormConfig};
use fused_norm_testkit::patterns::{g, p, q};

use crate::common::{assert_near, devices, filled, values};

const THREADS: usize = 4;
const ITERATIONS: usize = 200;
const SHAPE: [usize; 2] = [17, 65];

/// y, dx and dgamma of x times `scale`.
fn step(norm: &RmsNorm, scale: f64, device: &Device) -> [Vec<f64>; 3] {
    let x = filled::<2>(SHAPE, device, |i| scale * p(i)).require_grad();
    let y = norm.forward(x.clone());
    let gradients = (y.clone() * filled(SHAPE, device, q)).sum().backward();
    let gamma = norm.gamma.as_ref().unwrap().val();
    [
        values(y),
        values(x.grad(&gradients).unwrap()),
        values(gamma.grad(&gradients).unwrap()),
    ]
}

#[test]
fn threads_share_a_module() {
    for (name, device) in devices::selected() {
        let device = device.autodiff();
        let mut norm = RmsNormConfig::new(SHAPE[1])
            .with_epsilon(1e-12)
            .init(&device);
        norm.gamma = Some(Param::from_tensor(
            filled([SHAPE[1]], &device, g).require_grad(),
        ));
        let scales = [1.0, 8.0, 0.125, 1024.0];
        let alone = scales.map(|scale| step(&norm, scale, &device));
        // y and dgamma do not depend on the scale, and dx shrinks by it.
        for (scale, [y, dx, dgamma]) in scales.iter().zip(&alone) {
            assert_near(name, y, &alone[0][0], 2e-6);
            let dx: Vec<f64> = dx.iter().map(|dx| dx * scale).collect();
            assert_near(name, &dx, &alone[0][1], 2e-5);
            assert_near(name, dgamma, &alone[0][2], 2e-5);
        }
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (norm, device, alone) = (norm.clone(), device.clone(), &alone[thread]);
                scope.spawn(move || {
                    for iteration in 0..ITERATIONS {
                        let found = step(&norm, scales[thread], &device);
                        assert!(found == *alone, "{name}, thread {thread}, {iteration}");
                    }
                });
            }
        });
    }
}
