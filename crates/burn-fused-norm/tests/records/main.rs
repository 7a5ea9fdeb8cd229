//! Records from anywhere: damaged, cut off, or never a record. Loading one is an error or a layer that
//! works: no panic, and no memory in the size of a number that the file holds.
//!
//! `NORM_RECORD_CASES` is the number of files (4000 unless it is set); `NORM_RECORD_CASE=number` reads one
//! of them again.

mod damage;
mod memory;

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

use burn::module::Module;
use burn::store::{ModuleRecord, ModuleSnapshot, SafetensorsStore};
use burn::tensor::{Bytes, Device, Tensor};
use burn_fused_norm::{RmsNorm, RmsNormConfig};
use damage::Damage;

/// Bytes that loading one of these files, all smaller than 4 KiB, may ask for at a time.
const MOST: usize = 1 << 24;

const D_MODEL: usize = 4;

fn layer() -> RmsNorm {
    let config = RmsNormConfig::new(D_MODEL).with_bias(true);
    config.init(&Device::flex())
}

fn numbers() -> std::ops::Range<u64> {
    let setting = |name: &str| std::env::var(name).ok().map(|value| value.parse().unwrap());
    match setting("NORM_RECORD_CASE") {
        Some(number) => number..number + 1,
        None => 0..setting("NORM_RECORD_CASES").unwrap_or(4000),
    }
}

fn say(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// What is loaded works.
fn used(layer: &RmsNorm) {
    let x = Tensor::<2>::ones([2, D_MODEL], &Device::flex());
    assert_eq!(layer.forward(x).into_data().shape.as_slice(), [2, D_MODEL]);
}

/// Loads every damaged form of `whole`.
fn survives(what: &str, whole: &[u8], load: impl Fn(Vec<u8>) -> Option<RmsNorm>) {
    let intact = load(whole.to_vec());
    used(&intact.expect("an undamaged file loads"));
    let (mut loaded, mut refused, mut failed) = (0, 0, Vec::new());
    for number in numbers() {
        let file = Damage::of(number).damaged(whole);
        memory::watch();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            load(file).map(|layer| used(&layer)).is_some()
        }));
        let largest = memory::largest();
        match outcome {
            Ok(true) => loaded += 1,
            Ok(false) => refused += 1,
            Err(_) => failed.push((number, "a panic".to_string())),
        }
        if largest > MOST {
            failed.push((number, format!("{largest} bytes at a time")));
        }
    }
    say(&format!(
        "{what}: {refused} files refused, {loaded} loaded, {} failures\n",
        failed.len()
    ));
    failed.truncate(5);
    assert!(failed.is_empty(), "{what}, NORM_RECORD_CASE: {failed:?}");
    if std::env::var_os("NORM_RECORD_CASE").is_none() {
        assert!(
            refused > loaded && loaded > 0,
            "{what}: some damage is in a value, most is not"
        );
    }
}

#[test]
fn burns_own_format() {
    let whole = layer().into_record().into_bytes().unwrap();
    survives("a record in memory", &whole, |bytes| {
        let record = ModuleRecord::from_bytes(Bytes::from_bytes_vec(bytes)).ok()?;
        layer().try_load_record(record).ok()
    });
}

#[test]
fn burns_own_format_on_disk() {
    let whole = layer().into_record().into_bytes().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("norm.bpk");
    survives("a record on disk", &whole, |bytes| {
        std::fs::write(&path, bytes).unwrap();
        layer().try_load_file(&path).ok()
    });
}

#[test]
fn safetensors() {
    let mut store = SafetensorsStore::from_bytes(None);
    layer().save_into(&mut store).unwrap();
    let whole = store.get_bytes().unwrap();
    survives("safetensors", &whole, |bytes| {
        let mut store = SafetensorsStore::from_bytes(Some(bytes));
        let mut layer = layer();
        layer.load_from(&mut store).ok()?;
        Some(layer)
    });
}
