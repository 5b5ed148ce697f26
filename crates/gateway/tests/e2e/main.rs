//! The executable as a process: what it prints, how it ends, how it is stopped. What it computes is
//! the business of the case files.

#![expect(clippy::disallowed_methods, reason = "tests make files and threads, and measure")]
#![expect(clippy::unwrap_used, reason = "a broken test bench must fail the test")]

mod admin;
mod app;
mod bench;
mod bodies;
mod cache;
mod certificates;
mod circles;
mod commands;
mod connections;
mod connectors;
mod console;
mod dashboard;
mod examples;
mod executable;
mod findings;
mod front;
mod grpc;
mod heavy;
mod init;
mod instances;
mod large_answers;
mod load;
mod logs;
mod lsp;
mod mock;
mod outages;
mod reload;
mod scripts;
mod serve;
mod settings;
mod shell;
mod shop;
mod slow_scripts;
mod start_lines;
mod stdout;
mod suite;
mod supervise;
mod tokens;
mod traces;
mod trust;
mod variables;
mod websocket;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use qlio_testkit::process::{Finished, ServerProcess, executable, run_in, run_to_end};
use tempfile::TempDir;

/// How long anything may take; far more than it does.
const PATIENCE: Duration = Duration::from_mins(1);

fn binary() -> &'static Path {
    static BINARY: LazyLock<PathBuf> = LazyLock::new(|| executable(env!("CARGO_BIN_EXE_qlio")));
    &BINARY
}

/// A working directory with `tables/`, `routes/` and these files.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for name in ["tables", "routes"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn run(arguments: &[&str], folder: &Path, stdin: &str) -> Finished {
    run_to_end(binary(), arguments, folder, stdin, PATIENCE).unwrap()
}

/// The same with variables of the environment.
fn run_with(environment: &[(&str, &str)], arguments: &[&str], folder: &Path) -> Finished {
    run_in(binary(), arguments, folder, environment, "", PATIENCE).unwrap()
}

/// Serves the `tables/` and `routes/` of a folder on a free port.
const SERVE: [&str; 7] = ["serve", "--port", "0", "--tables", "tables", "--routes", "routes"];

fn serve_folder(folder: &Path, more: &[&str]) -> ServerProcess {
    start(&[&SERVE, more].concat(), folder)
}

fn start(arguments: &[&str], folder: &Path) -> ServerProcess {
    match ServerProcess::start(binary(), arguments, folder, &[], PATIENCE) {
        Ok(server) => server,
        Err(error) => panic!("{error}"),
    }
}

/// The memory of a server that is in use.
fn resident_bytes(server: &ServerProcess) -> usize {
    memory_bytes(server, "VmRSS:")
}

/// The most memory of a server that has been in use.
fn peak_bytes(server: &ServerProcess) -> usize {
    memory_bytes(server, "VmHWM:")
}

fn memory_bytes(server: &ServerProcess, name: &str) -> usize {
    let status = fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}
