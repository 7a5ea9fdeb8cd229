//! What was measured?
//!
//! First the copies, which all else is compared with, and ours; then PyTorch; then Burn's layers,
//! whose kernels are tuned at every new shape, which takes longer than measuring them.

use std::time::{Duration, Instant};

use crate::contenders::Contender;
use crate::device::Gpu;
use crate::output::Output;
use crate::shapes::{KINDS, Pass, Shape, shapes};
use crate::timing::{Time, Timed};
use crate::{Cli, caught, kernels, torch};

/// Part of the memory that the results of a batch may take.
const BATCH_PART: u64 = 16;
/// The same where the device does not say how much it has.
const BATCH_BYTES: u64 = 1 << 30;

/// What the numbers mean, for who reads them without this file.
const LEGEND: &str = "\
µs: median of batches of 2 ms or more, launches included; ±: distance of the quartiles
GB/s: of the bytes that the pass cannot do without; of a copy: x.mul_scalar(1.5), same shape and type
forward: x to a new y; backward: dy, x and rstd to dx and dgamma
training: forward and backward(), all gradients; Burn fills a dy of ones, PyTorch is given one
ours, kernels only: without Burn's tensors; all else of Burn is flushed after every call
inputs rotate, 128 MiB of them or 8: those of few rows are found in the cache";

/// A measured line.
#[derive(Clone, Debug)]
pub struct Line {
    /// What was measured.
    pub shape: Shape,
    /// What of it.
    pub pass: Pass,
    /// Of whom.
    pub contender: String,
    /// Parameters that the contender reads.
    pub parameters: usize,
    /// What it took.
    pub time: Time,
}

/// The lines so far, and how they are measured.
pub struct Table<'a> {
    gpu: &'a Gpu,
    shapes: Vec<Shape>,
    seconds: f64,
    until: Instant,
    torch_seconds: u64,
    lines: Vec<Line>,
    failed: Vec<String>,
    late: usize,
}

impl<'a> Table<'a> {
    /// A table without a line.
    pub fn new(gpu: &'a Gpu, cli: &Cli) -> Self {
        let of = |kind| shapes(kind, cli.quick, cli.max_elements);
        let [first, second] = KINDS.map(of);
        let shapes = first.into_iter().zip(second).flat_map(<[Shape; 2]>::from);
        Self {
            gpu,
            shapes: shapes.collect(),
            seconds: if cli.quick {
                cli.seconds / 4.0
            } else {
                cli.seconds
            },
            until: Instant::now() + Duration::from_secs(cli.table_seconds),
            torch_seconds: cli.torch_seconds,
            lines: vec![],
            failed: vec![],
            late: 0,
        }
    }

    /// Measures all that there is time for; `true` if nothing failed.
    pub fn measure(mut self, output: &mut Output) -> bool {
        output.line(LEGEND);
        for kind in KINDS.into_iter().filter(|kind| !self.gpu.supports(*kind)) {
            output.line(&format!("{kind}: skipped: the device does not have it"));
            self.shapes.retain(|shape| shape.kind != kind);
        }
        println!("type [rows, row_len]  pass  contender  µs  ± quartiles  GB/s  of a copy");
        for shape in self.shapes.clone() {
            self.contender(Contender::Copy, shape);
            self.contender(Contender::Ours, shape);
            self.kernels(shape);
            self.gpu.clean_up();
        }
        self.torch(output);
        for shape in self.shapes.clone() {
            self.contender(Contender::BurnRmsNorm, shape);
            self.contender(Contender::BurnLayerNorm, shape);
            self.gpu.clean_up();
        }
        if self.late > 0 {
            output.line(&format!("{} lines not measured: out of time", self.late));
        }
        for failure in &self.failed {
            output.line(failure);
        }
        for pass in Pass::ALL {
            for kind in KINDS {
                let title = format!("{}, {kind}", pass.name());
                output.table(&title, &self.markdown(pass, kind.name()));
            }
        }
        self.failed.is_empty()
    }

    fn contender(&mut self, contender: Contender, shape: Shape) {
        for &pass in contender.passes() {
            let norm = (pass == Pass::Forward && contender != Contender::Copy).then_some(1.0);
            let (name, parameters) = (contender.name(), contender.parameters());
            self.line(name, parameters, shape, pass, |table| {
                let mut call = contender.prepare(table.gpu, shape, pass);
                call(0).verify(norm)?;
                table.time(&mut *call, shape)
            });
        }
    }

    fn kernels(&mut self, shape: Shape) {
        for pass in [Pass::Forward, Pass::Backward] {
            self.line(kernels::NAME, 1, shape, pass, |table| {
                let mut call = kernels::prepare(table.gpu, shape, pass)?;
                kernels::verify(table.gpu, shape, &call(0))?;
                table.time(&mut *call, shape)
            });
        }
    }

    fn torch(&mut self, output: &mut Output) {
        let left = self.until.saturating_duration_since(Instant::now());
        let limit = left.min(Duration::from_secs(self.torch_seconds));
        let said = torch::measure(&self.shapes, self.seconds, limit);
        for line in said.lines {
            self.say(&line);
            self.lines.push(line);
        }
        for remark in said.remarks {
            output.line(&remark);
        }
    }

    fn time<T>(&self, call: &mut dyn FnMut(usize) -> T, shape: Shape) -> Result<Time, String> {
        let room = self
            .gpu
            .memory
            .map_or(BATCH_BYTES, |memory| memory / BATCH_PART);
        let mut timed = Timed {
            call,
            finish: &|| self.gpu.sync(),
            fitting: (room / shape.bytes() as u64) as usize,
        };
        timed.measure(self.seconds)
    }

    /// A line that is measured, fails, or comes too late.
    fn line(
        &mut self,
        contender: &str,
        parameters: usize,
        shape: Shape,
        pass: Pass,
        measure: impl FnOnce(&Self) -> Result<Time, String>,
    ) {
        if Instant::now() > self.until {
            self.late += 1;
            return;
        }
        match caught(|| measure(self)) {
            Ok(time) => {
                let line = Line {
                    shape,
                    pass,
                    contender: contender.into(),
                    parameters,
                    time,
                };
                self.say(&line);
                self.lines.push(line);
            }
            Err(error) => {
                let Shape {
                    kind,
                    rows,
                    row_len,
                } = shape;
                let what = format!("{kind} [{rows}, {row_len}] {} {contender}", pass.name());
                let failure = format!("FAILED {what}: {error}");
                println!("{failure}");
                self.failed.push(failure);
            }
        }
    }

    fn say(&self, line: &Line) {
        let Shape {
            kind,
            rows,
            row_len,
        } = line.shape;
        println!(
            "{:<4} {:<18} {:<8} {:<18} {}",
            kind.name(),
            format!("[{rows}, {row_len}]"),
            line.pass.name(),
            line.contender,
            self.numbers(line).join("  ")
        );
    }

    /// µs, spread, GB/s, and the share of the copy's GB/s.
    fn numbers(&self, line: &Line) -> [String; 4] {
        let rate = rate(line);
        let copied =
            self.lines.iter().chain([line]).find(|other| {
                other.contender == Contender::Copy.name() && other.shape == line.shape
            });
        let share = copied.and_then(|copied| Some(100.0 * rate? / self::rate(copied)?));
        let number = |value: Option<f64>| match value {
            None => "–".to_string(),
            Some(value) if value < 10.0 => format!("{value:.1}"),
            Some(value) => format!("{value:.0}"),
        };
        [
            format!("{:.1}", 1e6 * line.time.median),
            format!("{:.0} %", 100.0 * line.time.spread),
            number(rate),
            number(share) + " %",
        ]
    }

    fn markdown(&self, pass: Pass, kind: &str) -> String {
        let mut lines: Vec<&Line> = self
            .lines
            .iter()
            .filter(|line| line.pass == pass && line.shape.kind.name() == kind)
            .collect();
        // Stable: contenders stay in the order in which they were measured.
        lines.sort_by_key(|line| (line.shape.elements(), line.shape.row_len));
        let mut text = String::from(
            "| shape | contender | µs | ± | GB/s | of a copy |\n|---|---|---:|---:|---:|---:|\n",
        );
        for line in lines {
            let Shape { rows, row_len, .. } = line.shape;
            let numbers = self.numbers(line).join(" | ");
            text += &format!(
                "| `[{rows}, {row_len}]` | {} | {numbers} |\n",
                line.contender
            );
        }
        text
    }
}

/// GB/s of the bytes that the pass cannot do without.
fn rate(line: &Line) -> Option<f64> {
    let bytes = line.shape.pass_bytes(line.pass, line.parameters).ok()?;
    Some(bytes as f64 / line.time.median / 1e9)
}
