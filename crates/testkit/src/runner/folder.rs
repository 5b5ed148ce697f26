//! The folder of one case: its tables, routes, settings and files, gone when the case is over.

use std::fs;
use std::io;
use std::path::{Component, Path};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::case::{Cache, Case};

/// A laid-out working directory: `tables/`, `routes/`, `config.json`, `request.json` if the case has
/// a request, and the case's own files.
#[derive(Debug)]
pub struct CaseFolder {
    folder: TempDir,
}

impl CaseFolder {
    /// The name of the tables directory in the folder.
    pub const TABLES: &str = "tables";
    /// The name of the routes directory in the folder.
    pub const ROUTES: &str = "routes";
    /// The name of the settings file in the folder.
    pub const CONFIG: &str = "config.json";
    /// The name of the file with the client request, if the case has one.
    pub const REQUEST: &str = "request.json";

    /// Writes everything that the case needs.
    ///
    /// # Errors
    /// If a file can not be written, or its path leads out of the folder.
    pub fn lay_out(case: &Case) -> io::Result<Self> {
        let folder = TempDir::with_prefix("case-")?;
        let root = folder.path();
        fs::create_dir(root.join(Self::TABLES))?;
        fs::create_dir(root.join(Self::ROUTES))?;
        for (name, text) in &case.tables {
            write(&root.join(Self::TABLES), name, text)?;
        }
        for (name, text) in &case.routes {
            write(&root.join(Self::ROUTES), name, text)?;
        }
        for (name, text) in &case.files {
            write(root, name, text)?;
        }
        let mut config = case.config.clone();
        if case.cache == Some(Cache::Memory) {
            config.insert("cache".to_owned(), json!({"impl": "memory"}));
        }
        write(root, Self::CONFIG, &Value::Object(config).to_string())?;
        if let Some(request) = &case.request {
            let mut whole = json!({
                "query": request.query, "headers": request.headers, "route": request.route,
            });
            if let Some(body) = &request.body {
                whole["body"] = body.clone();
            }
            write(root, Self::REQUEST, &whole.to_string())?;
        }
        Ok(Self { folder })
    }

    /// The working directory.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

fn write(root: &Path, name: &str, text: &str) -> io::Result<()> {
    let inside = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
    if !inside {
        return Err(io::Error::other(format!("`{name}` leads out of the case's folder")));
    }
    let path = root.join(name);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(path, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::load::parse_cases;

    fn case(more: &str) -> Case {
        let text = format!("- id: a\n  why: b\n  script: c\n  expect: {{value: 1}}\n{more}");
        parse_cases(&text).unwrap().remove(0)
    }

    #[test]
    fn every_part_of_the_case_has_its_place() {
        let more = "  tables: {t.ql: T}\n  routes: {r.ql: R}\n  files: {tables/x.js: X, m.js: M}\n  config: {k: 1}\n  cache: memory\n  request: {query: {q: '1'}, body: null}\n";
        let folder = CaseFolder::lay_out(&case(more)).unwrap();
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(
            [read("tables/t.ql"), read("routes/r.ql"), read("tables/x.js"), read("m.js")],
            ["T", "R", "X", "M"]
        );
        let config: Value = serde_json::from_str(&read("config.json")).unwrap();
        assert_eq!(config, json!({"k": 1, "cache": {"impl": "memory"}}));
        let request: Value = serde_json::from_str(&read("request.json")).unwrap();
        assert_eq!(request, json!({"query": {"q": "1"}, "headers": {}, "route": {}, "body": null}));
    }

    #[test]
    fn a_folder_is_gone_with_its_handle() {
        let folder = CaseFolder::lay_out(&case("")).unwrap();
        let path = folder.path().to_owned();
        assert!(path.join("config.json").exists() && !path.join("request.json").exists());
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn a_path_out_of_the_folder_is_refused() {
        for name in ["../x", "/x", "a/../../x"] {
            assert!(CaseFolder::lay_out(&case(&format!("  files: {{'{name}': X}}\n"))).is_err());
        }
    }
}
