//! Reads which top-level modules of a crate use which, and finds circles among them.
//!
//! In: the folder of a crate's sources. Out: a circle, told with the files that close it. What counts is
//! `crate::name` in any file; comments and unit tests in the same file do not.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

/// For each module the modules that it uses, each with a file that does.
type Uses = BTreeMap<String, BTreeMap<String, String>>;

/// A circle among the top-level modules below `source`, in words; `None` if they are layers.
///
/// # Errors
/// A file cannot be read.
pub fn circle(source: &Path) -> io::Result<Option<String>> {
    let uses = uses(source)?;
    let mut done = BTreeSet::new();
    Ok(uses.keys().find_map(|module| visit(&uses, module, &mut Vec::new(), &mut done)))
}

fn uses(source: &Path) -> io::Result<Uses> {
    let mut uses = Uses::new();
    for place in files_below(source)? {
        let below = place.strip_prefix(source).unwrap_or(&place);
        let is_source = below.extension().is_some_and(|kind| kind == "rs");
        let is_root = below == Path::new("lib.rs");
        let is_test = below.components().any(|part| {
            let name = part.as_os_str().to_string_lossy();
            name == "tests" || name == "tests.rs" || name.ends_with("_tests.rs")
        });
        let Some(first) = below.components().next().filter(|_| is_source && !is_root && !is_test)
        else {
            continue;
        };
        let name = first.as_os_str().to_string_lossy();
        let module = name.strip_suffix(".rs").unwrap_or(&name).to_owned();
        let text = fs::read_to_string(&place)?;
        let used = uses.entry(module.clone()).or_default();
        for name in mentioned(&text).filter(|name| *name != module) {
            used.entry(name).or_insert_with(|| below.display().to_string());
        }
    }
    Ok(uses)
}

/// All files below a folder, by name.
fn files_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let place = entry?.path();
        if place.is_dir() {
            files.extend(files_below(&place)?);
        } else {
            files.push(place);
        }
    }
    files.sort();
    Ok(files)
}

/// The modules that a text names behind `crate::`, also as a list in braces.
fn mentioned(text: &str) -> impl Iterator<Item = String> {
    let code: String = text
        .split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or_default()
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n");
    let mut names = Vec::new();
    for rest in code.split("crate::").skip(1) {
        match rest.strip_prefix('{') {
            Some(list) => names.extend(listed(list)),
            None => names.push(identifier(rest)),
        }
    }
    names.into_iter().filter(|name| !name.is_empty())
}

/// The first name of each element of a list in braces, of which the first brace is gone.
fn listed(list: &str) -> Vec<String> {
    let (mut depth, mut begins, mut names) = (0_u32, true, Vec::new());
    for (at, character) in list.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => begins = true,
            character if depth == 0 && begins && !character.is_whitespace() => {
                begins = false;
                names.push(identifier(&list[at..]));
            }
            _ => {}
        }
    }
    names
}

fn identifier(text: &str) -> String {
    text.chars().take_while(|character| character.is_alphanumeric() || *character == '_').collect()
}

fn visit(
    uses: &Uses,
    module: &str,
    path: &mut Vec<String>,
    done: &mut BTreeSet<String>,
) -> Option<String> {
    if let Some(start) = path.iter().position(|before| before == module) {
        let ring = path[start..].iter().zip(path[start + 1..].iter().chain([&path[start]]));
        let steps = ring.map(|(from, to)| format!("`{from}` uses `{to}` in {}", uses[from][to]));
        return Some(steps.collect::<Vec<_>>().join(", "));
    }
    if !done.insert(module.to_owned()) {
        return None;
    }
    path.push(module.to_owned());
    let used = uses.get(module).into_iter().flat_map(BTreeMap::keys);
    let found =
        used.filter(|used| uses.contains_key(*used)).find_map(|used| visit(uses, used, path, done));
    path.pop();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crate_of(files: &[(&str, &str)]) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let place = folder.path().join(name);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(place, text).unwrap();
        }
        circle(folder.path()).unwrap()
    }

    #[test]
    fn layers_have_no_circle() {
        let files = [
            ("lib.rs", "mod a; mod b; pub use crate::a::X;"),
            ("a.rs", "use crate::{b::{self, c}, std_like};"),
            ("b/mod.rs", "// crate::a\nfn f() {}\n#[cfg(test)]\nmod tests {\nuse crate::a;}"),
        ];
        assert_eq!(crate_of(&files), None);
    }

    #[test]
    fn a_circle_is_told_with_its_files() {
        let files = [
            ("a.rs", "use crate::{\n    other::{x, y},\n    b::Y,\n};"),
            ("b/mod.rs", ""),
            ("b/deep.rs", "fn f() { crate::c::g() }"),
            ("c.rs", "use crate::a;"),
        ];
        assert_eq!(
            crate_of(&files).as_deref(),
            Some("`a` uses `b` in a.rs, `b` uses `c` in b/deep.rs, `c` uses `a` in c.rs")
        );
    }
}
