//! The same run on another device: the same weights and batches, so the same curve. Without dropout,
//! whose masks come from the generator of each device.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::bench::{Bench, read, train};

const DEVICES: &[&str] = &[
    #[cfg(feature = "ndarray")]
    "ndarray",
    #[cfg(feature = "cpu")]
    "cpu",
    #[cfg(feature = "wgpu")]
    "wgpu",
    #[cfg(feature = "vulkan")]
    "vulkan",
    #[cfg(feature = "metal")]
    "metal",
    #[cfg(feature = "webgpu")]
    "webgpu",
    #[cfg(feature = "cuda")]
    "cuda",
    #[cfg(feature = "rocm")]
    "rocm",
];

/// Steps to compare, of a run of 50. Without a GPU a step takes seconds.
fn compared() -> usize {
    match std::env::var_os("NORM_THOROUGH") {
        Some(_) => 50,
        None => 10,
    }
}

/// The training loss of the steps that are done.
fn losses(bench: &Bench, device: &str) -> Vec<f64> {
    let path = bench.path(device).join("metrics.csv");
    if !path.exists() {
        return vec![];
    }
    let mut text = read(path);
    // The program may be at its next line.
    text.truncate(text.iter().rposition(|byte| *byte == b'\n').unwrap_or(0));
    let mut reader = csv::Reader::from_reader(&text[..]);
    let headers = reader.headers().unwrap().clone();
    let column = |name: &str| headers.iter().position(|header| header == name);
    let (Some(split), Some(loss)) = (column("split"), column("bits_per_byte")) else {
        return vec![];
    };
    reader
        .records()
        .map(Result::unwrap)
        .filter(|row| &row[split] == "train")
        .map(|row| row[loss].parse().unwrap())
        .collect()
}

/// A machine without a GPU takes seconds a step, and longer for the first.
const DEADLINE: Duration = Duration::from_secs(1800);

/// A run that ends with the test, however that ends.
struct Run(Child);

impl Drop for Run {
    fn drop(&mut self) {
        // An error says that it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Trains until the steps to compare are done: the report after the last one takes minutes on a
/// device that compiles its kernels for two cores.
fn trained(bench: &Bench, device: &str) -> Vec<f64> {
    let arguments = train(&format!(
        "--steps 50 --dropout 0 --device {device} --out {device}"
    ));
    let child = bench
        .command(&arguments)
        .stdout(Stdio::null())
        .spawn()
        .expect("the program starts");
    let mut run = Run(child);
    let start = Instant::now();
    while losses(bench, device).len() < compared() {
        if let Some(status) = run.0.try_wait().expect("the run can be asked") {
            assert!(status.success(), "{device}: {status}");
            break;
        }
        assert!(
            start.elapsed() < DEADLINE,
            "{device}: {} of {} steps in {DEADLINE:?}",
            losses(bench, device).len(),
            compared()
        );
        std::thread::sleep(Duration::from_millis(100));
    }
    drop(run);
    let mut losses = losses(bench, device);
    losses.truncate(compared());
    losses
}

#[test]
fn every_device_follows_the_same_curve() {
    let bench = Bench::new();
    let expected = trained(&bench, "flex");
    assert_eq!(expected.len(), compared());
    let last = compared() - 1;
    assert!(
        expected[last] < 0.9 * expected[0],
        "it learns: {expected:?}"
    );
    let named = std::env::var("NORM_DEVICES").unwrap_or_else(|_| DEVICES.join(","));
    for device in DEVICES {
        if !named.split(',').any(|name| name.trim() == *device) {
            println!("{device}: skipped, NORM_DEVICES does not name it");
            continue;
        }
        let found = trained(&bench, device);
        assert_eq!(found.len(), expected.len(), "{device}");
        for (step, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let difference = (found / expected - 1.0).abs();
            assert!(
                difference < 0.01,
                "{device}, step {step}: {found}, flex {expected}"
            );
        }
        println!(
            "{device}: {} after {} steps, flex {}",
            found[last],
            compared(),
            expected[last]
        );
    }
}
