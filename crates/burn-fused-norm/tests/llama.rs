//! `Rounding::BeforeGamma` gives the bits of LLaMA's own code, on every device that has the type.

mod common;

use burn::tensor::{DType, Tensor, TensorData};
use burn_fused_norm::{RmsNormOptions, Rounding, rms_norm};
use common::devices;
use fused_norm_testkit::{FloatKind, llama_order, patterns};

const ROWS: usize = 64;
const ROW_LEN: usize = 4096;

#[test]
fn llamas_order_to_the_bit() {
    let x: Vec<f64> = (0..ROWS * ROW_LEN).map(patterns::p).collect();
    let gamma: Vec<f64> = (0..ROW_LEN).map(patterns::g).collect();
    for (name, device) in devices::selected() {
        for (kind, dtype) in [(FloatKind::BF16, DType::BF16), (FloatKind::F16, DType::F16)] {
            if !devices::computes(&device, dtype) {
                eprintln!("{name}: skipped {kind}, which this device lacks");
                continue;
            }
            let expected = llama_order(&x, &gamma, 1e-5, kind);
            let tensor = |values: &[f64]| TensorData::new(values.to_vec(), [values.len()]);
            let rows = Tensor::<1>::from_data(tensor(&x), (&device, dtype));
            let scale = Tensor::<1>::from_data(tensor(&gamma), (&device, dtype));
            let y = |rounding| -> Vec<f64> {
                let options = RmsNormOptions::new(1e-5).with_rounding(rounding);
                let rows = rows.clone().reshape([ROWS, ROW_LEN]);
                let y: Tensor<2> = rms_norm(rows, Some(scale.clone()), None, options);
                y.into_data().iter::<f64>().collect()
            };
            let differ = |y: Vec<f64>| y.iter().zip(&expected).filter(|(a, b)| a != b).count();
            assert_eq!(differ(y(Rounding::BeforeGamma)), 0, "{name} {kind}");
            let once = differ(y(Rounding::Once));
            assert!(once > ROWS * ROW_LEN / 10, "{name} {kind}: {once} differ");
        }
    }
}
