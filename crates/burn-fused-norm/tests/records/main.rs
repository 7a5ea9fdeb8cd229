//! Records from anywhere: damaged, cut off, or never a record. Loading one is an error or a layer that
//! works: no panic, and no memory in the size of a number that the file holds.
//!
//! `NORM_RECORD_CASES` is the number of files (4000 unless it is set); `NORM_RECORD_CASE=number` reads one
//! of them again.

#[path = "../common/mod.rs"]
mod common;
mod damage;
mod memory;

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

use burn::module::{Module, Param, ParamId};
use burn::store::{ModuleRecord, ModuleSnapshot, SafetensorsStore};
use burn::tensor::{Bytes, Device, Tensor};
use burn_fused_norm::{RmsNorm, RmsNormConfig};
use damage::Damage;

/// Bytes that loading one of these files, all smaller than 4 KiB, may ask for at a time.
const MOST: usize = 1 << 20;

/// The same from a file on disk: `burn-pack` 0.22.1 makes room for the description of the tensors before
/// it reads it, as much as the file says, but no more than this.
const MOST_ON_DISK: usize = 100 * 1024 * 1024;

const D_MODEL: usize = 4;

/// With identities that are the same in every run, as they are part of a file.
fn layer() -> RmsNorm {
    let config = RmsNormConfig::new(D_MODEL).with_bias(true);
    let mut layer = config.init(&Device::flex());
    let with = |id: u64, parameter: Param<Tensor<1>>| {
        Param::initialized(ParamId::from(id), parameter.val())
    };
    layer.gamma = layer.gamma.map(|gamma| with(1, gamma));
    layer.beta = layer.beta.map(|beta| with(2, beta));
    layer
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
    assert_eq!(layer.forward(x).dims(), [2, D_MODEL]);
}

/// Loads every damaged form of `whole`.
fn survives(what: &str, whole: &[u8], most: usize, load: impl Fn(Vec<u8>) -> Option<RmsNorm>) {
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
        if largest > most {
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
    survives("a record in memory", &whole, MOST, |bytes| {
        let record = ModuleRecord::from_bytes(Bytes::from_bytes_vec(bytes)).ok()?;
        layer().try_load_record(record).ok()
    });
}

#[test]
fn burns_own_format_on_disk() {
    let whole = layer().into_record().into_bytes().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("norm.bpk");
    survives("a record on disk", &whole, MOST_ON_DISK, |bytes| {
        std::fs::write(&path, bytes).unwrap();
        layer().try_load_file(&path).ok()
    });
}

#[test]
fn safetensors() {
    let mut store = SafetensorsStore::from_bytes(None);
    layer().save_into(&mut store).unwrap();
    let whole = store.get_bytes().unwrap();
    survives("safetensors", &whole, MOST, |bytes| {
        let mut store = SafetensorsStore::from_bytes(Some(bytes));
        let mut layer = layer();
        layer.load_from(&mut store).ok()?;
        Some(layer)
    });
}
