//! The planner as plain C functions on texts, to prove that it runs outside of a process: in a
//! browser, or in Node as `check.mjs` does.
//!
//! In: table files as one text, and a script, both UTF-8 in memory from [`alloc`]. Out: JSON as
//! UTF-8, its address in the upper and its length in the lower half of a `u64`, to be given back to
//! [`free`]. Nothing here decides anything; all of it is `qlio_plan`.

use qlio_data::{Object, Value, codec::json};
use qlio_plan::{
    Catalog, CompileOptions, Origin,
    catalog::{CatalogBuilder, NoResources},
    compile, complete, diagnose, explain,
};
use qlio_syntax::{
    diagnostic::{Diagnostic, Severity},
    source::LineIndex,
};

/// Memory for `length` bytes of text.
#[unsafe(no_mangle)]
pub extern "C" fn alloc(length: usize) -> *mut u8 {
    Box::into_raw(vec![0_u8; length].into_boxed_slice()).cast()
}

/// Gives back memory from [`alloc`] or of an answer.
///
/// # Safety
/// `start` and `length` are those of one allocation that was not given back before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(start: *mut u8, length: usize) {
    // SAFETY: the caller gives back what `alloc` or `answer` made from a boxed slice of this length.
    drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(start, length)) });
}

/// The plan of a script as JSON, or `{"diagnostics": …}`.
///
/// # Safety
/// Both texts lie in memory from [`alloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn explain_json(
    tables: *const u8,
    tables_length: usize,
    script: *const u8,
    script_length: usize,
) -> u64 {
    // SAFETY: as promised by the caller.
    let (tables, script) = unsafe { (text(tables, tables_length), text(script, script_length)) };
    let options = CompileOptions { origin: Origin::AdHoc, file: "script", resources: &NoResources };
    answer(match compile(&script, &catalog(&tables), &options) {
        Ok(compiled) => explain::to_json(&explain::explain(&compiled.plan), None),
        Err(problems) => {
            let list = ("diagnostics", diagnostics(&problems, &script));
            json::to_string(&Value::object([list].into_iter().collect()))
        }
    })
}

/// Every problem of a script as a JSON array.
///
/// # Safety
/// Both texts lie in memory from [`alloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn diagnose_json(
    tables: *const u8,
    tables_length: usize,
    script: *const u8,
    script_length: usize,
) -> u64 {
    // SAFETY: as promised by the caller.
    let (tables, script) = unsafe { (text(tables, tables_length), text(script, script_length)) };
    answer(json::to_string(&diagnostics(&diagnose(&script, &catalog(&tables)), &script)))
}

/// What could be written at byte `offset` of a script, as a JSON array.
///
/// # Safety
/// Both texts lie in memory from [`alloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn complete_json(
    tables: *const u8,
    tables_length: usize,
    script: *const u8,
    script_length: usize,
    offset: usize,
) -> u64 {
    // SAFETY: as promised by the caller.
    let (tables, script) = unsafe { (text(tables, tables_length), text(script, script_length)) };
    let found = complete::at(&script, offset, &catalog(&tables));
    let list: Value = found
        .iter()
        .map(|found| {
            object([
                ("label", Value::from(found.label.as_str())),
                ("kind", Value::from(found.kind.as_str())),
                ("detail", Value::from(found.detail.as_str())),
            ])
        })
        .collect();
    answer(json::to_string(&list))
}

fn catalog(tables: &str) -> Catalog {
    let mut builder = CatalogBuilder::new(Value::Absent, &NoResources);
    builder.add_table_file("tables.ql", tables);
    builder.finish().0
}

fn diagnostics(problems: &[Diagnostic], text: &str) -> Value {
    let lines = LineIndex::new(text);
    let entry = |problem: &Diagnostic| {
        let position = lines.position(text, problem.primary.span.start);
        object([
            ("code", Value::from(format!("Q{:04}", problem.code.number))),
            ("isError", Value::Bool(problem.severity == Severity::Error)),
            ("message", Value::from(problem.full_message())),
            ("hints", problem.hints.iter().map(|hint| Value::from(hint.as_str())).collect()),
            ("line", Value::int(position.line.into())),
            ("column", Value::int(position.column.into())),
        ])
    };
    problems.iter().map(entry).collect()
}

fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::object(members.into_iter().collect::<Object>())
}

/// # Safety
/// `length` bytes can be read at `start`.
unsafe fn text(start: *const u8, length: usize) -> String {
    // SAFETY: as promised by the caller.
    let bytes = unsafe { std::slice::from_raw_parts(start, length) };
    String::from_utf8_lossy(bytes).into_owned()
}

/// Hands a text over; addresses have 32 bits where this runs.
fn answer(text: String) -> u64 {
    let bytes = text.into_bytes().into_boxed_slice();
    let length = bytes.len() as u64;
    ((Box::into_raw(bytes).cast::<u8>() as u64) << 32) | length
}
