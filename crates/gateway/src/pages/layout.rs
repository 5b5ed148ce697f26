//! The frame that all pages share, and the pieces they are put together from.

use std::fmt::Write;

use qlio_data::codec::xml::escape;

const STYLE: &str = "\
:root{color-scheme:light dark;--line:#8884;--accent:#0b62a8}\
@media (prefers-color-scheme:dark){:root{--accent:#7cc0f5}}\
body{font:16px/1.5 system-ui,sans-serif;max-width:64rem;margin:0 auto;padding:0 1rem}\
header{display:flex;gap:1.5rem;align-items:baseline;border-bottom:1px solid var(--line);padding:1rem 0}\
header .logo{font-weight:700;font-size:1.25rem;text-decoration:none}\
nav a{margin-right:1rem}\
a{color:var(--accent)}\
h1{font-size:1.5rem;overflow-wrap:anywhere}\
h2{font-size:1.15rem;margin-top:2rem;border-bottom:1px solid var(--line)}\
table{border-collapse:collapse;width:100%;margin:1rem 0}\
th,td{text-align:left;vertical-align:top;padding:.4rem .75rem .4rem 0;border-bottom:1px solid var(--line);overflow-wrap:anywhere}\
td p{margin:0}\
code,pre{font-family:ui-monospace,monospace;font-size:.9em;overflow-wrap:anywhere}\
pre{overflow-x:auto;padding:.75rem;border:1px solid var(--line)}\
footer{margin:3rem 0 1rem;border-top:1px solid var(--line);padding-top:.5rem;font-size:.85rem}";

/// A page in the making.
pub(super) struct Page {
    html: String,
}

impl Page {
    /// A page with its header and title.
    pub(super) fn new(title: &str) -> Self {
        let title = escape(title);
        let html = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title} - qlio</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
             <header><a class=\"logo\" href=\"/\">qlio</a>\
             <nav aria-label=\"Metadata\"><a href=\"/api\">routes</a><a href=\"/tables\">tables</a></nav>\
             </header>\n<main>\n<h1>{title}</h1>\n"
        );
        Self { html }
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
        self.html
    }

    fn add(&mut self, pieces: std::fmt::Arguments<'_>) {
        // Writing to a text cannot fail.
        let _ = self.html.write_fmt(pieces);
    }
}
