//! There is no gradient of a gradient: the attempt is refused, and gives no zeros.

use burn_fused_norm::{RmsNormOptions, rms_norm};
use fused_norm_testkit::patterns::g;

use crate::common::{devices, filled, refusal};

#[test]
fn a_second_backward_is_refused() {
    for (name, device) in devices::selected() {
        let device = device.autodiff();
        let x = filled::<1>([3], &device, |i| (i + 1) as f64).require_grad();
        let gamma = filled::<1>([3], &device, g).require_grad();
        let y = rms_norm(
            x.clone(),
            Some(gamma.clone()),
            None,
            RmsNormOptions::new(1e-5),
        );
        let gradients = (y.clone() * y).sum().backward();
        let dx = x.grad(&gradients).unwrap();
        assert!(!dx.is_tracked(), "{name}");

        let text = refusal(|| dx.clone().sum().backward());
        assert!(text.contains("requires a tracked"), "{name}: {text}");

        // With a tracked weight on it there is a gradient of that weight, and still none of x.
        let weight = filled::<1>([3], &device, g).require_grad();
        let gradients = (dx.autodiff() * weight.clone()).sum().backward();
        assert!(weight.grad(&gradients).is_some(), "{name}");
        assert!(x.grad(&gradients).is_none(), "{name}");
        assert!(gamma.grad(&gradients).is_none(), "{name}");
    }
}
