//! The same run on another device: the same weights and batches, so the same curve. Without dropout,
//! whose masks come from the generator of each device.

use crate::bench::{Bench, read, train};

const DEVICES: &[&str] = &[
    #[cfg(feature = "cpu")]
    "cpu",
    #[cfg(feature = "wgpu")]
    "wgpu",
];

/// The training loss of every step.
fn losses(bench: &Bench, device: &str) -> Vec<f64> {
    bench.result(&train(&format!(
        "--steps 50 --dropout 0 --device {device} --out {device}"
    )));
    let text = read(bench.path(device).join("metrics.csv"));
    let mut reader = csv::Reader::from_reader(&text[..]);
    let headers = reader.headers().unwrap().clone();
    let column = |name: &str| headers.iter().position(|header| header == name).unwrap();
    let (split, loss) = (column("split"), column("bits_per_byte"));
    reader
        .records()
        .map(Result::unwrap)
        .filter(|row| &row[split] == "train")
        .map(|row| row[loss].parse().unwrap())
        .collect()
}

#[test]
fn every_device_follows_the_same_curve() {
    let bench = Bench::new();
    let expected = losses(&bench, "flex");
    assert_eq!(expected.len(), 50);
    assert!(expected[49] < expected[0] / 2.0, "it learns: {expected:?}");
    for device in DEVICES {
        let found = losses(&bench, device);
        assert_eq!(found.len(), expected.len());
        for (step, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let difference = (found / expected - 1.0).abs();
            assert!(
                difference < 0.01,
                "{device}, step {step}: {found}, flex {expected}"
            );
        }
        println!(
            "{device}: {} after 50 steps, flex {}",
            found[49], expected[49]
        );
    }
}
