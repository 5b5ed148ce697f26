//! One HTML page: no scripts, no other files.

use std::fmt::Write as _;

use super::{Cell, Report, Table};
use qlio_data::codec::xml::escape;

use crate::environment::Environment;

const STYLE: &str = "\
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem;color:#1b1f24}
h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .75rem;border-bottom:1px solid #d5dae0;text-align:right}
th:first-child,td.text{text-align:left}
th{border-bottom:2px solid #8a939e;font-weight:600}
svg{max-width:100%;height:auto;margin:.5rem 0}
pre{background:#f4f6f8;padding:1rem;overflow-x:auto;border-radius:6px}
.failure{color:#a40e26;font-weight:600}";

/// The page.
pub(super) fn page(report: &Report, environment: &Environment) -> String {
    let title = escape(&report.title);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
    );
    // Writing to a string cannot fail.
    if let Some(failure) = &report.failure {
        let _ = writeln!(out, "<p class=\"failure\">{}</p>", escape(failure));
    }
    let _ = writeln!(out, "<pre>{}</pre>", escape(&report.text));
    if !report.notes.is_empty() {
        out.push_str("<ul>\n");
        for note in &report.notes {
            let _ = writeln!(out, "<li>{}</li>", escape(note));
        }
        out.push_str("</ul>\n");
    }
    for chart in &report.charts {
        let _ = writeln!(out, "<figure>{}</figure>", chart.to_svg());
    }
    for table in &report.tables {
        push_table(table, &mut out);
    }
    out.push_str("<h2>Environment</h2>\n<table>\n");
    for (name, value) in environment.lines() {
        let (name, value) = (escape(&name), escape(&value));
        let _ =
            writeln!(out, "<tr><td class=\"text\">{name}</td><td class=\"text\">{value}</td></tr>");
    }
    out.push_str("</table>\n</body>\n</html>\n");
    out
}

fn push_table(table: &Table, out: &mut String) {
    let _ = write!(out, "<h2>{}</h2>\n<table>\n<tr>", escape(&table.title));
    for column in &table.columns {
        let _ = write!(out, "<th>{}</th>", escape(column));
    }
    out.push_str("</tr>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        for cell in row {
            let class = if matches!(cell, Cell::Text(_)) { " class=\"text\"" } else { "" };
            let _ = write!(out, "<td{class}>{}</td>", escape(&cell.shown()));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</table>\n");
}
