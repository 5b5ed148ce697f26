//! Links: the files that tables name, so that an editor opens them.

use qlio_data::Value;
use qlio_syntax::{
    ast::{FormatClause, Primary, RawText, Verb},
    visit::each_primary,
};

use crate::{
    document::Document,
    json::{list, object},
    names::Names,
    uri::{path_of, uri_of},
};

/// The links of a document; one that is no file of a folder has none.
pub(crate) fn links(document: &Document, uri: &str, names: &Names) -> Value {
    let path = path_of(uri);
    let Some((folder, _)) = path.rsplit_once('/').filter(|_| path.starts_with('/')) else {
        return list([]);
    };
    let mut found = Vec::new();
    each_primary(&names.read.script, &mut |primary| {
        let Primary::Create(create) = primary else { return };
        for (name, file) in create.verbs.iter().flat_map(named_files) {
            let Some(target) = beside(folder, &file) else { continue };
            let range = document.range(name.span);
            found.push(object([("range", range), ("target", Value::from(uri_of(&target)))]));
        }
    });
    list(found)
}

/// The names of files in a verb, each with the file that it stands for; modules need no ending.
fn named_files(verb: &Verb) -> Vec<(&RawText, String)> {
    let modules = [&verb.patch, &verb.auth, &verb.transformer].into_iter().flatten();
    let module = |name: &str| {
        let file = name.rsplit('/').next().unwrap_or(name);
        if file.contains('.') { name.to_owned() } else { format!("{name}.js") }
    };
    let schemas = [&verb.format, &verb.request_format].into_iter().flatten().flat_map(schema_of);
    let plain = verb.body.iter().map(|body| &body.template).chain(schemas);
    modules
        .map(|name| (name, module(&name.text)))
        .chain(plain.map(|name| (name, name.text.clone())))
        .collect()
}

fn schema_of(clause: &FormatClause) -> impl Iterator<Item = &RawText> {
    clause.options.iter().filter(|option| option.name.text == "from").map(|option| &option.value)
}

/// The path of `name` as a table in `folder` means it: below that folder, or there is none (CON-8).
fn beside(folder: &str, name: &str) -> Option<String> {
    let mut path = folder.to_owned();
    for part in name.split('/').filter(|part| !matches!(*part, "" | ".")) {
        if part == ".." {
            return None;
        }
        path.push('/');
        path.push_str(part);
    }
    Some(path)
}
