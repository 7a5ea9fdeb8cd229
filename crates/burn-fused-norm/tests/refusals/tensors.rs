//! What `rms_norm` refuses: lengths, axes and numbers.

use burn_fused_norm::{RmsNormOptions, rms_norm};

use crate::common::refusal;
use crate::{on_every_device, ones};

#[test]
fn tensors() {
    let options = RmsNormOptions::new(1e-5);
    on_every_device(|device| {
        let x = || ones([2, 4], device);
        let row = |len| Some(ones([len], device));
        assert_eq!(
            refusal(|| rms_norm(x(), row(3), None, options)),
            "rms_norm: gamma has 3 elements, x has d_model 4"
        );
        assert_eq!(
            refusal(|| rms_norm(x(), row(4), row(5), options)),
            "rms_norm: beta has 5 elements, x has d_model 4"
        );
        assert_eq!(
            refusal(|| rms_norm(x(), None, row(4), options)),
            "rms_norm: beta is given without gamma, expected both"
        );
        assert_eq!(
            refusal(|| rms_norm(ones([2, 0], device), None, None, options)),
            "rms_norm: the last axis of x is empty ([2, 0]), expected at least 1 element"
        );
        for epsilon in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(
                refusal(|| rms_norm(x(), None, None, RmsNormOptions::new(epsilon))),
                format!("rms_norm: epsilon is {epsilon}, expected a finite number greater than 0")
            );
        }
        for partial in [0.0, -0.5, 2.0, f64::NAN] {
            assert_eq!(
                refusal(|| rms_norm(x(), None, None, options.with_partial(Some(partial)))),
                format!("rms_norm: partial is {partial}, expected a fraction in (0, 1]")
            );
        }
        for groups in [0, 3, 8] {
            assert_eq!(
                refusal(|| rms_norm(x(), None, None, options.with_groups(groups))),
                format!("rms_norm: groups is {groups} with d_model 4, expected a divisor of it")
            );
        }
        assert_eq!(
            refusal(|| rms_norm(x(), None, None, options.with_axis(2))),
            "rms_norm: axis is 2 from the last, x has 2 axes"
        );
        assert_eq!(
            refusal(|| rms_norm(ones([4], device), None, None, options.with_axis(1))),
            "rms_norm: axis is 1 from the last, x has 1 axes"
        );
        assert_eq!(
            refusal(|| rms_norm(ones([0, 6], device), None, None, options.with_axis(1))),
            "rms_norm: axis 1 from the last of x is empty ([0, 6]), expected at least 1 element"
        );
        // Of the axis, not of the last.
        assert_eq!(
            refusal(|| rms_norm(ones([2, 4], device), row(4), None, options.with_axis(1))),
            "rms_norm: gamma has 4 elements, x has d_model 2"
        );
    });
}
