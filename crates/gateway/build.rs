//! Gathers what the executable can say of itself: the pages of the diagnostic codes, and which commit
//! it was built from; and sets its allocator. Nothing of it depends on where or when that happens.

#![expect(
    clippy::disallowed_methods,
    reason = "it reads pages and what cargo tells, and writes one file"
)]

use std::{
    env,
    error::Error,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The pages of the codes, from the folder of this package.
const PAGES: &str = "../../docs/errors";

fn main() -> Result<(), Box<dyn Error>> {
    let package = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={PAGES}");
    let pages = pages(&package.join(PAGES))?;
    fs::write(PathBuf::from(env::var("OUT_DIR")?).join("pages.rs"), pages)?;
    let (profile, target) = (env::var("PROFILE")?, env::var("TARGET")?);
    // In a build for development every commit would be a reason to compile the package once more.
    let commit = if profile == "release" { commit(&package) } else { None };
    let commit = commit.unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=QLIO_BUILD=commit {commit}, {profile} build for {target}");
    set_allocator(&package.join("src/allocator.c"))
}

/// Links what sets the allocator into the executable, whose allocator it is; what embeds the library has its own.
fn set_allocator(source: &Path) -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", source.display());
    if env::var("CARGO_CFG_TARGET_FAMILY")? != "unix" {
        return Ok(());
    }
    let headers = env::var("DEP_MIMALLOC_INCLUDE_DIR")?;
    for object in cc::Build::new().file(source).include(headers).try_compile_intermediates()? {
        println!("cargo::rustc-link-arg-bins={}", object.display());
    }
    if env::var("CARGO_CFG_TARGET_OS")? == "linux" {
        for function in ["mi_malloc_aligned", "mi_zalloc_aligned", "mi_realloc_aligned"] {
            println!("cargo::rustc-link-arg-bins=-Wl,--wrap={function}");
        }
    }
    Ok(())
}

/// A list of file names without their ending, and of the texts.
fn pages(folder: &Path) -> Result<String, Box<dyn Error>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        // Beside the pages lies their table of contents.
        if let Some(name) = name.to_str().and_then(|name| name.strip_suffix(".md"))
            && name.starts_with('Q')
        {
            names.push(name.to_owned());
        }
    }
    names.sort_unstable();
    let mut list = String::from("&[\n");
    for name in names {
        let path = format!("/{PAGES}/{name}.md");
        writeln!(
            list,
            "    ({name:?}, include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {path:?}))),"
        )?;
    }
    Ok(list + "]\n")
}

/// The commit and its day, and whether the sources differ from it; none outside of a repository, or in
/// one that is not this project's.
fn commit(package: &Path) -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(package).args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    println!("cargo::rerun-if-changed=..");
    println!("cargo::rerun-if-changed=../../Cargo.lock");
    for file in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--path-format=absolute", "--git-path", file])?;
        if Path::new(&path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    let commit = git(&["show", "--no-patch", "--abbrev=12", "--format=%h of %cs", "HEAD"])?;
    let changed =
        git(&["status", "--porcelain", "--", "..", "../../Cargo.lock", "../../Cargo.toml"])?;
    Some(if changed.is_empty() { commit } else { commit + " with changes" })
}
