//! `docs/benchmarks.md`.

use std::fmt::Write;
use std::process::Command;

use fused_norm_benches::cases::{ROW_LENS, ROWS};
use fused_norm_benches::record::Record;
use serde::Deserialize;

/// What the benchmarks have found.
pub struct Results {
    pub forward: Vec<Record>,
    pub training: Vec<Record>,
    pub train_step: Vec<Record>,
    pub variants: Vec<Record>,
    pub routines: Vec<Record>,
    pub torch: Vec<TorchRecord>,
}

/// A line of `torch.csv`.
#[derive(Debug, Deserialize)]
pub struct TorchRecord {
    pass: String,
    rows: usize,
    row_len: usize,
    contender: String,
    micros: f64,
}

/// The page.
pub fn page(results: &Results) -> String {
    let mut page = String::from(
        "# Benchmarks\n\nWritten by `benches/run.sh`; [performance.md](performance.md) says what the \
         figures mean.\n\n",
    );
    let _ = writeln!(page, "{}.\n", circumstances());
    page += "Times are medians of a call in microseconds. A ratio is the contender's time over ours, \
             with the quartiles of the turns: above 1, we are faster. *Of copy* is the time of a copy \
             of the bytes that must move, over the contender's time.\n";
    for (title, records, pass) in [
        ("Forward, x kept", &results.forward, "forward"),
        (
            "Forward and backward, through autodiff",
            &results.training,
            "training",
        ),
    ] {
        for device in ["flex", "ndarray"] {
            let _ = writeln!(page, "\n## {title}: {device}, f32\n");
            grid(&mut page, records, device, pass);
        }
    }
    section(
        &mut page,
        "Large shapes: flex, f32",
        &results.forward,
        |record| {
            record.device == "flex"
                && record.pass == "forward"
                && record.kind == "f32"
                && !in_grid(record)
        },
    );
    section(
        &mut page,
        "Large shapes, training: flex, f32",
        &results.training,
        |record| record.device == "flex" && !in_grid(record),
    );
    section(&mut page, "Other types: flex", &results.forward, |record| {
        record.kind != "f32"
    });
    section(
        &mut page,
        "pRMSNorm of 6.25 %: flex, f32",
        &results.forward,
        |record| record.pass == "partial",
    );
    section(
        &mut page,
        "The backward kernel alone, f32",
        &results.training,
        |record| record.pass == "backward",
    );
    section(
        &mut page,
        "CubeCL devices, forward",
        &results.forward,
        |record| !matches!(record.device.as_str(), "flex" | "ndarray"),
    );
    section(
        &mut page,
        "CubeCL devices, training",
        &results.training,
        |record| !matches!(record.device.as_str(), "flex" | "ndarray" | "kernel"),
    );
    section(
        &mut page,
        "One step of a Transformer block, by norm",
        &results.train_step,
        |_| true,
    );
    section(
        &mut page,
        "The variants, beside what each replaces",
        &results.variants,
        |_| true,
    );
    section(&mut page, "CubeCL routines", &results.routines, |_| true);
    torch(&mut page, results);
    page
}

/// Which machine, and when.
fn circumstances() -> String {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("an unnamed processor", |(_, name)| name);
    let date = Command::new("date").arg("+%Y-%m-%d").output();
    let date = date.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_string());
    format!(
        "{model}, {} threads, {}",
        rayon::current_num_threads(),
        date.unwrap_or_else(|_| "date unknown".into())
    )
}

fn in_grid(record: &Record) -> bool {
    ROWS.contains(&record.rows) && ROW_LENS.contains(&record.row_len)
}

/// A line a shape: ours, and the ratios of the others.
fn grid(page: &mut String, records: &[Record], device: &str, pass: &str) {
    let lines: Vec<&Record> = records
        .iter()
        .filter(|r| r.device == device && r.pass == pass && r.kind == "f32" && in_grid(r))
        .collect();
    let names: Vec<&str> = lines.iter().fold(vec![], |mut names, record| {
        let name = record.contender.as_str();
        if name != "ours" && !names.contains(&name) {
            names.push(name);
        }
        names
    });
    let _ = writeln!(
        page,
        "| shape | ours, µs | of copy | {} |",
        names.join(" | ")
    );
    let _ = writeln!(page, "|---|---:|---:|{}", "---:|".repeat(names.len()));
    for ours in lines.iter().filter(|record| record.contender == "ours") {
        let _ = write!(
            page,
            "| `[{}, {}]` | {} | {} |",
            ours.rows,
            ours.row_len,
            micros(ours.micros),
            share(ours.of_copy)
        );
        for name in &names {
            let other = lines.iter().find(|record| {
                (record.rows, record.row_len) == (ours.rows, ours.row_len)
                    && record.contender == *name
            });
            let cell = other.map_or(String::new(), |record| format!("{:.2}", record.ratio));
            let _ = write!(page, " {cell} |");
        }
        page.push('\n');
    }
}

/// A line a contender, of the records that `picked` picks.
fn section(page: &mut String, title: &str, records: &[Record], picked: impl Fn(&Record) -> bool) {
    let picked: Vec<&Record> = records.iter().filter(|record| picked(record)).collect();
    if picked.is_empty() {
        return;
    }
    let _ = writeln!(page, "\n## {title}\n");
    page.push_str("| device | type | pass | shape | | µs | GB/s | of copy | ratio | quartiles |\n");
    page.push_str("|---|---|---|---|---|---:|---:|---:|---:|---|\n");
    for record in picked {
        let _ = writeln!(
            page,
            "| {} | {} | {} | `[{}, {}]` | {} | {} | {:.1} | {} | {:.2} | {:.2} – {:.2} |",
            record.device,
            record.kind,
            record.pass,
            record.rows,
            record.row_len,
            record.contender,
            micros(record.micros),
            record.gb_per_s,
            share(record.of_copy),
            record.ratio,
            record.low,
            record.high,
        );
    }
}

/// PyTorch's times beside ours on Flex.
fn torch(page: &mut String, results: &Results) {
    if results.torch.is_empty() {
        return;
    }
    page.push_str("\n## PyTorch, in a process of its own\n\n");
    page.push_str("| pass | shape | | µs | ours, µs | ratio |\n|---|---|---|---:|---:|---:|\n");
    for theirs in &results.torch {
        let ours = results
            .forward
            .iter()
            .chain(&results.training)
            .find(|record| {
                record.device == "flex"
                    && record.kind == "f32"
                    && record.contender == "ours"
                    && record.pass == theirs.pass
                    && (record.rows, record.row_len) == (theirs.rows, theirs.row_len)
            });
        let Some(ours) = ours else { continue };
        let _ = writeln!(
            page,
            "| {} | `[{}, {}]` | {} | {} | {} | {:.2} |",
            theirs.pass,
            theirs.rows,
            theirs.row_len,
            theirs.contender,
            micros(theirs.micros),
            micros(ours.micros),
            theirs.micros / ours.micros
        );
    }
}

fn micros(micros: f64) -> String {
    match micros {
        ..100.0 => format!("{micros:.1}"),
        _ => format!("{micros:.0}"),
    }
}

fn share(share: Option<f64>) -> String {
    share.map_or(String::new(), |share| format!("{:.0} %", 100.0 * share))
}
