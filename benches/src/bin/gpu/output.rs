//! Where does the answer go? To standard output, and to `$OUT/gpu.md` if `OUT` is set.

use std::fs;
use std::path::PathBuf;

/// The answer so far. The file is complete after every line, should the program be stopped.
pub struct Output {
    file: Option<PathBuf>,
    markdown: String,
}

impl Output {
    /// An answer without a line.
    pub fn new() -> Self {
        Self {
            file: std::env::var_os("OUT").map(|folder| PathBuf::from(folder).join("gpu.md")),
            markdown: String::new(),
        }
    }

    /// A headline.
    pub fn section(&mut self, title: &str) {
        println!("\n== {title}");
        let marks = if self.markdown.is_empty() {
            "#"
        } else {
            "\n##"
        };
        self.add(&format!("{marks} {title}\n\n"));
    }

    /// A line, or several.
    pub fn line(&mut self, text: &str) {
        println!("{text}");
        let code: String = text.lines().map(|line| format!("    {line}\n")).collect();
        self.add(&code);
    }

    /// A table, for the file only: its lines have been said while they were measured.
    pub fn table(&mut self, title: &str, markdown: &str) {
        self.add(&format!("\n### {title}\n\n{markdown}"));
    }

    fn add(&mut self, markdown: &str) {
        self.markdown += markdown;
        if let Some(file) = &self.file
            && let Err(error) = fs::write(file, &self.markdown)
        {
            eprintln!("gpu: {}: {error}", file.display());
            self.file = None;
        }
    }
}
