//! Every case of `spec/` against the real executable over real sockets, each as a test of its own:
//! `<folder>/<file>::<id>`; and once more against the library in this process, under the name
//! `in-process/…`. A conformance collection beside the workspace (or where
//! `QLIO_CONFORMANCE` says) is run as well.
//!
//! Cases in `spec/gap/` are known failures: they run, must fail, and turn the suite red when one
//! begins to pass, so that it is moved to where it belongs.
//!
//! The harness lies in this package because Cargo tells only the package of the binary where it is.

#![expect(clippy::disallowed_methods, reason = "tests make files")]

mod in_process;

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};

use qlio_testkit::case::Case;
use qlio_testkit::case::load::load_folder;
use qlio_testkit::process::executable;
use qlio_testkit::runner::binary::BinaryEngine;
use qlio_testkit::runner::{CaseEngine, run_case};

use in_process::InProcessEngine;

/// Starting a process and waiting for it costs little of a core, so more cases than cores run at
/// once.
const CASES_AT_ONCE: usize = 8;

/// Conformance cases that a later decision overrules; `spec/` holds the corrected ones.
const OVERRULED: &[(&str, &str)] = &[
    // Body templates escape for their own type, plain text not at all (CON-45).
    ("bodies", "bodies-002"),
    // SRV-5: comment lines of a route are joined by LF.
    ("show-describe", "show-describe-012"),
    // URI-11: a list stays a list when one of its requests has failed.
    ("bodies", "bodies-030"),
];

/// What names of tests begin with that run in this process.
const IN_PROCESS: &str = "in-process/";

/// The name of the collection beside the workspace.
const SHARED: &str = "conformance/";

type Engine = Arc<dyn CaseEngine + Send + Sync>;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(CASES_AT_ONCE);
    let engine: Engine = Arc::new(BinaryEngine::new(executable(env!("CARGO_BIN_EXE_qlio"))));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut trials = Vec::new();
    add_folder(&mut trials, &engine, &root.join("spec"), "");
    let in_process: Engine = Arc::new(InProcessEngine);
    add_folder(&mut trials, &in_process, &root.join("spec"), IN_PROCESS);
    let conformance = env::var_os("QLIO_CONFORMANCE").map(PathBuf::from);
    let shared = conformance.clone().unwrap_or_else(|| root.join("../shared/conformance"));
    if shared.is_dir() {
        add_folder(&mut trials, &engine, &shared, SHARED);
    } else if conformance.is_some() {
        trials.push(Trial::test("conformance", || Err("QLIO_CONFORMANCE is no folder".into())));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn add_folder(trials: &mut Vec<Trial>, engine: &Engine, folder: &Path, prefix: &str) {
    let (files, errors) = load_folder(folder);
    for error in errors {
        let name = format!("{prefix}{}", name_in(folder, error.path()));
        trials.push(Trial::test(name, move || Err(error.to_string().into())));
    }
    for file in files {
        let file_name = name_in(folder, &file.path);
        let is_gap = file_name.starts_with("gap/");
        for case in file.cases {
            // Without a socket there is nothing to upgrade.
            if case.websocket.is_some() && prefix == IN_PROCESS {
                continue;
            }
            let id = (file_name.as_str(), case.id.as_str());
            let overruled = prefix == SHARED && OVERRULED.contains(&id);
            let engine = Arc::clone(engine);
            let name = format!("{prefix}{file_name}::{}", case.id);
            let trial = Trial::test(name, move || judge(&*engine, &case, is_gap));
            trials.push(trial.with_ignored_flag(overruled));
        }
    }
}

/// The path of a case file inside its folder, without its ending.
fn name_in(folder: &Path, path: &Path) -> String {
    path.strip_prefix(folder).unwrap_or(path).with_extension("").display().to_string()
}

fn judge(engine: &dyn CaseEngine, case: &Case, is_gap: bool) -> Result<(), Failed> {
    match (run_case(engine, case), is_gap) {
        (Ok(()), false) | (Err(_), true) => Ok(()),
        (Err(why), false) => Err(format!("{}\n{why}", case.why).into()),
        (Ok(()), true) => Err("this gap is closed: move the case to where it belongs".into()),
    }
}
