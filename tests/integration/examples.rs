//! The case studies of `examples/`: each runs, and what it argues with its figures holds.

use std::path::Path;
use std::process::Command;

fn run(name: &str, arguments: usize) {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name);
    let output = Command::new("bash").arg(program).env("CELLFS", env!("CARGO_BIN_EXE_cellfs")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{name}: {said}{}", String::from_utf8_lossy(&output.stderr));
    println!("{said}");
    assert_eq!(said.lines().filter(|line| line.starts_with("  => ")).count(), arguments, "{said}");
    assert!(said.lines().filter(|line| line.contains(" cells ") && line.ends_with(" ms")).count() >= 4, "{said}");
}

#[test]
fn examples_webtable() {
    run("webtable.sh", 2);
}

#[test]
fn examples_twitbase() {
    run("twitbase.sh", 4);
}

#[test]
fn examples_timeseries() {
    run("timeseries.sh", 5);
}

#[test]
fn examples_orders() {
    run("orders.sh", 4);
}

#[test]
fn examples_lists() {
    run("lists.sh", 3);
}
