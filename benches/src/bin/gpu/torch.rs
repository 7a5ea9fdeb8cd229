//! What does PyTorch take, if it is there?

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::shapes::{KINDS, Pass, Shape};
use crate::table::Line;
use crate::timing::Time;

const SCRIPT: &str = include_str!("torch.py");
/// Time that the script may take beyond its limit: to start, and for the shape that it is at.
const GRACE: Duration = Duration::from_secs(20);

/// What the script has printed.
#[derive(Default)]
pub struct Said {
    /// Measured lines.
    pub lines: Vec<Line>,
    /// Version, or why there is nothing.
    pub remarks: Vec<String>,
}

/// Runs the script on these shapes with `python3`, for `limit` in all.
pub fn measure(shapes: &[Shape], seconds: f64, limit: Duration) -> Said {
    let mut said = Said::default();
    let result = match limit.is_zero() {
        true => Err("no time for it".into()),
        false => script(shapes, seconds, limit, &mut said),
    };
    if let Err(reason) = result {
        said.remarks.push(format!("torch: skipped: {reason}"));
    }
    said
}

fn script(shapes: &[Shape], seconds: f64, limit: Duration, said: &mut Said) -> Result<(), String> {
    let of = |shape: &Shape| format!("{},{},{}", shape.rows, shape.row_len, shape.kind);
    let mut child = Command::new("python3")
        .arg("-")
        .arg(seconds.to_string())
        .arg(limit.as_secs_f64().to_string())
        .args(shapes.iter().map(of))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("python3: {error}"))?;
    let result = listen(&mut child, Instant::now() + limit + GRACE, said);
    if result.is_err() {
        let _ = child.kill();
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    match result? {
        _ if status.success() => Ok(()),
        errors => {
            let last = errors.lines().last().unwrap_or("no message").to_string();
            Err(format!("python3 ended with {status}: {last}"))
        }
    }
}

/// Reads what the script prints until it ends; returns its errors.
fn listen(child: &mut Child, until: Instant, said: &mut Said) -> Result<String, String> {
    let (Some(mut stdin), Some(stdout), Some(mut stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err("python3 has no pipes".into());
    };
    // A script that ends before it has read all is reported by its status.
    let _ = stdin.write_all(SCRIPT.as_bytes());
    drop(stdin);
    let errors = thread::spawn(move || {
        let mut text = String::new();
        let _ = stderr.read_to_string(&mut text);
        text
    });
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match receiver.recv_timeout(left) {
            Ok(text) => said.hear(&text)?,
            Err(RecvTimeoutError::Timeout) => return Err("python3 takes too long".into()),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    Ok(errors.join().unwrap_or_default())
}

impl Said {
    fn hear(&mut self, text: &str) -> Result<(), String> {
        if let Some(reason) = text.strip_prefix("skipped: ") {
            return Err(reason.into());
        }
        match text.strip_prefix("remark: ") {
            Some(remark) => self.remarks.push(remark.into()),
            None => {
                let line = parse(text).ok_or_else(|| format!("it printed {text:?}"))?;
                self.lines.push(line);
            }
        }
        Ok(())
    }
}

/// `contender,parameters,pass,kind,rows,row_len,seconds,spread`
fn parse(text: &str) -> Option<Line> {
    let fields: Vec<&str> = text.split(',').collect();
    let [
        contender,
        parameters,
        pass,
        kind,
        rows,
        row_len,
        median,
        spread,
    ] = fields[..]
    else {
        return None;
    };
    Some(Line {
        shape: Shape {
            kind: KINDS.into_iter().find(|known| known.name() == kind)?,
            rows: rows.parse().ok()?,
            row_len: row_len.parse().ok()?,
        },
        pass: Pass::ALL.into_iter().find(|known| known.name() == pass)?,
        contender: contender.into(),
        parameters: parameters.parse().ok()?,
        time: Time {
            median: median.parse().ok()?,
            spread: spread.parse().ok()?,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_script_is_understood() {
        let line = parse("torch rms_norm,1,backward,bf16,8,4096,1.25e-05,0.02").unwrap();
        assert_eq!(line.contender, "torch rms_norm");
        assert_eq!((line.pass, line.shape.rows), (Pass::Backward, 8));
        assert_eq!(line.time.median, 1.25e-5);
        assert!(parse("torch rms_norm,1,backward,f8,8,4096,1,0").is_none());
        assert!(parse("Traceback").is_none());
    }
}
