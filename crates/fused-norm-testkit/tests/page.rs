//! The pages on testing and on mutations name tests, cases and properties that exist, and leave no cell
//! empty.

use std::path::{Path, PathBuf};

use fused_norm_testkit::{catalogue, properties};

/// How a path of the page begins, and where that is.
const PLACES: [(&str, &str); 5] = [
    ("layer/", "crates/burn-fused-norm/tests/"),
    ("kernels/", "crates/fused-norm-kernels/tests/"),
    ("cube/", "crates/fused-norm-cube-tests/tests/"),
    ("testkit/", "crates/fused-norm-testkit/src/"),
    ("example/", "examples/pre-norm-transformer/"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What is wrong with a reference, if anything is.
fn wrong(reference: &str) -> Option<String> {
    if let Some(group) = reference.strip_prefix("catalogue:") {
        let begins = |name: &str| name == group || name.starts_with(&format!("{group}-"));
        let found = catalogue().iter().any(|case| begins(&case.name));
        return (!found).then(|| format!("no case is of group {group}"));
    }
    if let Some(name) = reference.strip_prefix("property:") {
        let found = properties().iter().any(|property| property.name == name);
        return (!found).then(|| format!("no property is named {name}"));
    }
    let (path, test) = match reference.split_once("::") {
        Some((path, test)) => (path, Some(test)),
        None => (reference, None),
    };
    let place = PLACES.iter().find(|(short, _)| path.starts_with(short));
    let file = match place {
        Some((short, long)) => path.replacen(short, long, 1),
        None => path.to_string(),
    };
    let mut path = root().join(&file);
    // A folder stands for the test that it is.
    if path.is_dir() && test.is_none() {
        path.push("main.rs");
    }
    let Ok(text) = std::fs::read_to_string(path) else {
        return Some(format!("no file {file}"));
    };
    let missing = test.filter(|test| !text.contains(&format!("fn {test}()")));
    missing.map(|test| format!("no test {test} in {file}"))
}

/// What is wrong with the rows of a table, each of which names tests in its second cell.
fn faults(rows: &[&str], cells_a_row: usize) -> Vec<String> {
    let mut faults = vec![];
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        if cells.len() != cells_a_row || cells.iter().any(|cell| cell.is_empty()) {
            faults.push(format!(
                "{row}: expected {cells_a_row} cells with something in each"
            ));
            continue;
        }
        let references: Vec<&str> = cells[1].split('`').skip(1).step_by(2).collect();
        if references.is_empty() {
            faults.push(format!("{row}: no test"));
        }
        faults.extend(references.into_iter().filter_map(wrong));
    }
    faults
}

#[test]
fn every_mistake_has_a_test_that_exists() {
    let page = std::fs::read_to_string(root().join("docs/testing.md")).unwrap();
    let table = page
        .split("\n## ")
        .find(|section| section.starts_with("What fails elsewhere"))
        .expect("the section");
    let rows = table.lines().filter(|line| line.starts_with("| "));
    let rows: Vec<&str> = rows.filter(|line| !line.contains("| tests |")).collect();
    assert!(rows.len() > 60, "{} rows", rows.len());
    let faults = faults(&rows, 3);
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn every_mutation_was_caught_by_a_test_that_exists() {
    let page = std::fs::read_to_string(root().join("docs/mutations.md")).unwrap();
    let (caught, _) = page.split_once("\n## ").expect("what was not caught");
    let rows = caught.lines().filter(|line| line.starts_with("| "));
    let rows: Vec<&str> = rows
        .filter(|line| !line.ends_with("| test that fails |"))
        .collect();
    assert!(rows.len() >= 25, "{} rows", rows.len());
    let faults = faults(&rows, 2);
    assert!(faults.is_empty(), "{faults:#?}");
}
