//! The frame that all pages share, and the pieces they are put together from.

use std::{
    fmt::Write,
    hash::{DefaultHasher, Hasher},
};

use qlio_data::codec::xml::escape;

use crate::http::disclosure::MetadataScope;

/// The colours and sizes of the console, so that the pages look like parts of it.
const STYLE: &str = "\
:root{color-scheme:light dark;--page:#fff;--panel:#f6f7f9;--text:#1b1f24;--muted:#57606a;--edge:#8a929c;--line:#d4d9df;--accent:#0b5cad;--on-accent:#fff}\
@media (prefers-color-scheme:dark){:root{--page:#14171c;--panel:#1c2027;--text:#e6e9ee;--muted:#a3acb8;--edge:#6b7684;--line:#313842;--accent:#6cb2ff;--on-accent:#14171c}}\
*{box-sizing:border-box}\
body{font:16px/1.5 system-ui,sans-serif;background:var(--page);color:var(--text);max-width:64rem;margin:0 auto;padding:0 16px}\
header{display:flex;flex-wrap:wrap;gap:4px 24px;align-items:baseline;border-bottom:1px solid var(--line);padding:12px 0}\
header .logo{font-weight:700;font-size:1.25rem;text-decoration:none;color:var(--text)}\
nav a{display:inline-block;margin-right:16px;min-height:24px}\
a{color:var(--accent)}\
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}\
h1{font-size:1.5rem;overflow-wrap:anywhere}\
h2{font-size:1.15rem;margin-top:32px;border-bottom:1px solid var(--line)}\
table{border-collapse:collapse;width:100%;margin:16px 0}\
th,td{text-align:left;vertical-align:top;padding:8px 12px 8px 0;border-bottom:1px solid var(--line);overflow-wrap:anywhere}\
th{color:var(--muted);font-weight:600;overflow-wrap:normal}\
td:has(>a){min-width:min(9rem,40vw)}\
td p{margin:0}\
code,pre{font-family:ui-monospace,monospace;font-size:.9em;overflow-wrap:anywhere}\
pre{overflow-x:auto;padding:12px;background:var(--panel);border:1px solid var(--line);border-radius:6px}\
form{background:var(--panel);border:1px solid var(--line);border-radius:6px;padding:16px;display:grid;gap:12px;max-width:40rem}\
label{display:grid;gap:4px}\
input{font:inherit;color:inherit;background:var(--page);border:1px solid var(--edge);border-radius:6px;padding:6px 8px;min-height:36px;width:100%}\
button{font:inherit;justify-self:start;color:var(--on-accent);background:var(--accent);border:0;border-radius:6px;padding:6px 16px;min-height:36px;cursor:pointer}\
.hint{color:var(--muted);font-size:.9em}\
footer{margin:48px 0 16px;border-top:1px solid var(--line);padding-top:8px;font-size:.85rem;color:var(--muted)}";

/// Which other pages there are to go to.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Doors {
    /// The console.
    pub console: bool,
    /// `/q`.
    pub scripts: bool,
    /// How much of the catalog is told: whether there are `/api` and `/route`, `/tables` and `/table`.
    pub told: MetadataScope,
    /// The pages follow reloads of the app, by the script [`super::SCRIPT_PATH`].
    pub follows: bool,
}

impl Doors {
    /// `/api` and `/route`.
    pub(super) fn routes(self) -> bool {
        self.told >= MetadataScope::Routes
    }

    /// `/tables` and `/table`.
    pub(super) fn tables(self) -> bool {
        self.told >= MetadataScope::All
    }
}

/// A field of a form.
pub(super) struct Field {
    /// The name under which its value is sent.
    pub(super) name: String,
    pub(super) label: String,
    pub(super) is_required: bool,
    /// What is taken if it stays empty.
    pub(super) default: String,
}

/// A page in the making.
pub(super) struct Page {
    html: String,
    /// Where the script is mentioned, if it is.
    script_at: Option<usize>,
}

impl Page {
    /// A page with its header and title. Links are relative, so that they hold under the prefix of a proxy.
    pub(super) fn new(title: &str, doors: Doors) -> Self {
        let title = escape(title);
        let links = [
            (doors.console, "console", "console"),
            (doors.routes(), "api", "routes"),
            (doors.tables(), "tables", "tables"),
        ];
        let open = links.into_iter().filter(|(is_open, ..)| *is_open);
        let links = open.fold(String::new(), |links, (_, address, name)| {
            links + "<a href=\"" + address + "\">" + name + "</a>"
        });
        let mut html = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title} - qlio</title>\n<style>{STYLE}</style>\n"
        );
        let script_at = doors.follows.then_some(html.len());
        html.push_str("</head>\n<body>\n");
        let header = format!(
            "<header><a class=\"logo\" href=\"./\">qlio</a>\
             <nav aria-label=\"Pages\">{links}</nav>\
             </header>\n<main>\n<h1>{title}</h1>\n"
        );
        html.push_str(&header);
        Self { html, script_at }
    }

    /// A form that asks for these values. What is `hidden` goes with them.
    pub(super) fn form(
        &mut self,
        address: &str,
        hidden: &[(&str, &str)],
        fields: &[Field],
        button: &str,
    ) {
        self.add(format_args!("<form method=\"get\" action=\"{}\">\n", escape(address)));
        for (name, value) in hidden {
            let (name, value) = (escape(name), escape(value));
            self.add(format_args!("<input type=\"hidden\" name=\"{name}\" value=\"{value}\">\n"));
        }
        for Field { name, label, is_required, default } in fields {
            let (name, label, default) = (escape(name), escape(label), escape(default));
            let (mark, required) =
                if *is_required { (" (required)", " required") } else { ("", "") };
            self.add(format_args!(
                "<label><span><code>{label}</code>{mark}</span>\
                 <input name=\"{name}\" placeholder=\"{default}\"{required}></label>\n"
            ));
        }
        self.add(format_args!("<button>{}</button>\n</form>\n", escape(button)));
    }

    /// Escaped text.
    pub(super) fn paragraph(&mut self, text: &str) {
        self.raw(&format!("<p>{}</p>", escape(text)));
    }

    /// A heading below the title.
    pub(super) fn section(&mut self, title: &str) {
        self.raw(&format!("<h2>{}</h2>", escape(title)));
    }

    /// Markup that is safe already.
    pub(super) fn raw(&mut self, html: &str) {
        self.html.push_str(html);
        self.html.push('\n');
    }

    /// Begins a table with these column titles.
    pub(super) fn begin_table(&mut self, titles: &[&str]) {
        self.html.push_str("<table>\n<thead><tr>");
        for title in titles {
            self.add(format_args!("<th scope=\"col\">{}</th>", escape(title)));
        }
        self.html.push_str("</tr></thead>\n<tbody>\n");
    }

    /// A row of safe markup.
    pub(super) fn cells(&mut self, cells: &[String]) {
        self.html.push_str("<tr>");
        for cell in cells {
            self.add(format_args!("<td>{cell}</td>"));
        }
        self.html.push_str("</tr>\n");
    }

    /// Ends the table.
    pub(super) fn end_table(&mut self) {
        self.html.push_str("</tbody>\n</table>\n");
    }

    /// A list of safe links; `None` is said if there are none.
    pub(super) fn links(&mut self, links: &[String]) {
        if links.is_empty() {
            self.paragraph("None");
            return;
        }
        self.html.push_str("<ul>\n");
        for link in links {
            self.add(format_args!("<li>{link}</li>\n"));
        }
        self.html.push_str("</ul>\n");
    }

    /// The complete page.
    pub(super) fn finish(mut self) -> String {
        self.html.push_str("</main>\n<footer>");
        self.add(format_args!("qlio {}", env!("CARGO_PKG_VERSION")));
        self.html.push_str("</footer>\n</body>\n</html>\n");
        if let Some(at) = self.script_at {
            // By its text the script knows whether the page is another one by now.
            let mut hasher = DefaultHasher::new();
            hasher.write(self.html.as_bytes());
            let (path, text) = (super::SCRIPT_PATH.trim_start_matches('/'), hasher.finish());
            let script =
                format!("<script src=\"{path}\" data-page=\"{text:016x}\" defer></script>\n");
            self.html.insert_str(at, &script);
        }
        self.html
    }

    fn add(&mut self, pieces: std::fmt::Arguments<'_>) {
        // Writing to a text cannot fail.
        let _ = self.html.write_fmt(pieces);
    }
}
