//! The small HTML pages of the metadata endpoints (SRV-48).
//!
//! In: the same values that the JSON answers hold. Out: complete pages without any outside asset.
//! Everything that comes from a script is escaped; documentation text, which is markup already,
//! passes an allow-list. Pages hold no scripts, but in development mode load one that shows them as they are by now,
//! once the app was read anew ([`SCRIPT`]); forms send what was filled in to the page itself, which
//! answers with where to go ([`trial`]). They are built from what is there: a member that is missing is simply not
//! shown.

mod documentation;
mod layout;
pub(crate) mod trial;

use qlio_data::Value;

pub(crate) use layout::Doors;
use layout::{Field, Page};
use qlio_data::codec::xml::escape;

/// Where the script of pages is found.
pub(crate) const SCRIPT_PATH: &str = "/pages/refresh.js";

/// The script of pages.
pub(crate) const SCRIPT: &str = include_str!("refresh.js");

/// The list of routes, as `show routes` gives it.
pub(crate) fn routes(routes: &Value, doors: Doors) -> String {
    let mut page = Page::new("Routes", doors);
    let rows = items(routes);
    if rows.is_empty() {
        page.paragraph("No routes are loaded.");
        return page.finish();
    }
    page.begin_table(&["Method", "Path", "Info"]);
    for route in &rows {
        page.cells(&[
            format!("<code>{}</code>", escape(&text(route, "method").to_uppercase())),
            link(&text(route, "about"), &text(route, "path")),
            documentation(route, "-"),
        ]);
    }
    page.end_table();
    page.finish()
}

/// The list of tables, as `show tables` gives it.
pub(crate) fn tables(tables: &Value, doors: Doors) -> String {
    let mut page = Page::new("Tables", doors);
    let rows = items(tables);
    if rows.is_empty() {
        page.paragraph("No tables are loaded.");
        return page.finish();
    }
    page.begin_table(&["Name", "Info"]);
    for table in &rows {
        page.cells(&[
            link(&text(table, "about"), &text(table, "name")),
            documentation(table, "Not Available"),
        ]);
    }
    page.end_table();
    page.finish()
}

/// One route, as `describe route` gives it.
pub(crate) fn route(route: &Value, doors: Doors) -> String {
    let title = format!("{} {}", text(route, "method").to_uppercase(), text(route, "path"));
    let mut page = Page::new(&title, doors);
    page.raw(&documentation(route, ""));
    page.section("Try it");
    try_route(&mut page, &text(route, "method"), &text(route, "path"));
    page.section("Tables referenced");
    page.links(&about_links(route, "tables", "name"));
    page.section("Related routes");
    page.links(&about_links(route, "related", "path"));
    page.finish()
}

/// One table, as `describe` gives it.
pub(crate) fn table(table: &Value, doors: Doors) -> String {
    let mut page = Page::new(&text(table, "name"), doors);
    page.raw(&documentation(table, ""));
    for verb in ["select", "insert", "update", "delete"] {
        let declaration = table.member(verb);
        if declaration.is_object() {
            page.section(verb);
            verb_section(&mut page, verb, &declaration);
            if verb == "select" && (doors.console || doors.scripts) {
                try_table(&mut page, &text(table, "name"), &declaration);
            }
        }
    }
    page.section("Related routes");
    page.links(&about_links(table, "routes", "path"));
    page.finish()
}

/// What is here, and how to go on.
pub(crate) fn root(doors: Doors) -> String {
    let mut page = Page::new("qlio is running", doors);
    page.paragraph("This server answers requests to its routes.");
    let mut lines = Vec::new();
    if doors.console {
        lines.push("<a href=\"console\">The console</a>: write and run scripts".to_owned());
    }
    if doors.routes() {
        lines.push(
            "<a href=\"api\">Routes</a>: what can be asked for, with a form for each".to_owned(),
        );
    }
    if doors.tables() {
        lines
            .push("<a href=\"tables\">Tables</a>: the APIs that scripts read and write".to_owned());
    }
    if doors.scripts {
        lines.push("<code>/q?s=show%20tables</code> runs a script".to_owned());
    }
    if !lines.is_empty() {
        page.links(&lines);
    }
    if !doors.console && doors.follows {
        page.raw(
            "<p class=\"hint\">The console is switched off, by <code>--disableConsole</code> or by \
             the setting <code>console</code>.</p>",
        );
    } else if !doors.console {
        page.raw(
            "<p class=\"hint\">Whoever develops an app gets a console here, and all of these pages, \
             by starting the server with <code>qlio serve --dev</code>.</p>",
        );
    }
    page.finish()
}

/// A form for the tokens of a route that is asked with `get`; for others a line for the command line.
fn try_route(page: &mut Page, method: &str, path: &str) {
    let fields = trial::route_fields(path).filter(|_| method == "get");
    let Some(fields) = fields else {
        let body = if method == "delete" { "" } else { " --json '{}'" };
        let line = format!("curl -X {}{body} 'http://HOST{path}'", method.to_uppercase());
        page.raw(&format!("<pre><code>{}</code></pre>", escape(&line)));
        return;
    };
    let fields: Vec<Field> = fields
        .into_iter()
        .map(|(name, is_required)| Field {
            label: name.clone(),
            name: format!("{}{name}", trial::PREFIX),
            is_required,
            default: String::new(),
        })
        .collect();
    let hidden = [("path", path), ("method", method), (trial::MARK, "get")];
    page.form("route", &hidden, &fields, "Ask");
}

/// A form for the parameters of a select from a table.
fn try_table(page: &mut Page, name: &str, declaration: &Value) {
    let params = items(&declaration.member("params"));
    let fields: Vec<Field> = params
        .iter()
        .map(|param| Field {
            label: text(param, "variable"),
            name: format!("{}{}", trial::PREFIX, text(param, "variable")),
            is_required: param.member("required").is_truthy(),
            default: match param.member("default") {
                Value::Absent => String::new(),
                default => printed(&default),
            },
        })
        .collect();
    page.form("table", &[("name", name), (trial::MARK, "select")], &fields, "Select");
}

fn verb_section(page: &mut Page, verb: &str, declaration: &Value) {
    let uri = text(declaration, "uri");
    let method = text(declaration, "method").to_uppercase();
    page.raw(&format!("<p><code>{} {}</code></p>", escape(&method), escape(&uri)));
    let headers = declaration.member("headers").into_tree();
    if let Value::Object(headers) = &headers
        && !headers.is_empty()
    {
        page.begin_table(&["Header", "Value"]);
        for (name, value) in headers.iter() {
            page.cells(&[code(name), code(&printed(value))]);
        }
        page.end_table();
    }
    let body = declaration.member("body");
    if body.is_object() {
        page.raw(&format!("<p>Body of type {}</p>", code(&text(&body, "type"))));
        let content = text(&body, "content");
        if !content.is_empty() {
            page.raw(&format!("<pre><code>{}</code></pre>", escape(&content)));
        }
    }
    // The parameters of an insert are the members of its body, which its URI does not show.
    let params = items(&declaration.member("params"));
    if verb != "insert" && !params.is_empty() {
        page.begin_table(&["Parameter", "Required", "Default"]);
        for param in &params {
            let is_required = param.member("required").is_truthy();
            page.cells(&[
                code(&text(param, "variable")),
                if is_required { "yes" } else { "no" }.to_owned(),
                match param.member("default") {
                    Value::Absent => String::new(),
                    default => code(&printed(&default)),
                },
            ]);
        }
        page.end_table();
    }
}

/// The links of a list of `about` addresses, named after one of their query parameters.
fn about_links(value: &Value, member: &str, parameter: &str) -> Vec<String> {
    items(&value.member(member))
        .iter()
        .filter_map(|about| about.as_str().map(|about| link(about, &about_name(about, parameter))))
        .collect()
}

/// What an `about` address is about, such as `GET /books/{subject}`; the address itself if it has
/// no such parameter.
fn about_name(about: &str, parameter: &str) -> String {
    let query = about.split_once('?').map(|(_, query)| query);
    let Ok(query) = crate::http::query::parse(query) else { return about.to_owned() };
    let named = |name: &str| crate::http::query::text(&query, name);
    match (named("method"), named(parameter)) {
        (Some(method), Some(name)) => format!("{} {name}", method.to_uppercase()),
        (None, Some(name)) => name.to_owned(),
        _ => about.to_owned(),
    }
}

fn link(address: &str, name: &str) -> String {
    let address = address.strip_prefix('/').unwrap_or(address);
    format!("<a href=\"{}\">{}</a>", escape(address), escape(name))
}

fn code(text: &str) -> String {
    format!("<code>{}</code>", escape(text))
}

fn documentation(value: &Value, none: &str) -> String {
    let info = text(value, "info");
    if info.is_empty() { escape(none) } else { documentation::allow_listed(&info) }
}

fn items(value: &Value) -> Vec<Value> {
    value.elements().map(std::borrow::Cow::into_owned).unwrap_or_default()
}

fn text(value: &Value, member: &str) -> String {
    value.member(member).scalar_text().map(|text| text.to_string()).unwrap_or_default()
}

fn printed(value: &Value) -> String {
    match value.scalar_text() {
        Some(text) => text.to_string(),
        None => qlio_data::codec::json::to_string(value),
    }
}

#[cfg(test)]
mod tests {
    use qlio_data::codec::json::parse_str;

    use super::*;
    use crate::http::disclosure::MetadataScope;

    fn value(json: &str) -> Value {
        parse_str(json).expect("valid JSON")
    }

    const DOORS: Doors =
        Doors { console: true, scripts: true, told: MetadataScope::All, follows: false };

    /// Tags are balanced, and the frame is there.
    #[track_caller]
    fn check_page(html: &str) {
        assert!(html.starts_with("<!DOCTYPE html>"), "{html}");
        let mut open: Vec<&str> = Vec::new();
        for tag in html.split('<').skip(1).filter(|tag| !tag.starts_with('!')) {
            let name = tag.split([' ', '>', '\n']).next().unwrap_or_default();
            match name.strip_prefix('/') {
                Some(closed) => assert_eq!(open.pop(), Some(closed), "{html}"),
                None if ["meta", "br", "hr", "input"].contains(&name) => {}
                None => open.push(name),
            }
        }
        assert!(open.is_empty(), "{open:?}");
        for part in ["href=\"./\"", "href=\"api\"", "href=\"tables\"", "<main", "<footer", "lang="]
        {
            assert!(html.contains(part), "{part} in {html}");
        }
        assert!(!html.contains("<script"));
    }

    #[test]
    fn the_lists_link_to_their_items() {
        let html = tables(
            &value(
                r#"[{"name":"lib.books","about":"/table?name=lib.books","info":"<p>By <em>subject</em></p>"},
                {"name":"x","about":"/table?name=x","info":""}]"#,
            ),
            DOORS,
        );
        check_page(&html);
        assert!(html.contains("<a href=\"table?name=lib.books\">lib.books</a>"));
        assert!(html.contains("<p>By <em>subject</em></p>"));
        assert!(html.contains("Not Available"));
        let html = routes(
            &value(
                r#"[{"path":"/bk/{id}","method":"post","about":"/route?path=%2Fbk&method=post","info":""}]"#,
            ),
            DOORS,
        );
        check_page(&html);
        assert!(html.contains("POST"));
        assert!(html.contains("<a href=\"route?path=%2Fbk&amp;method=post\">/bk/{id}</a>"));
        check_page(&routes(&value("[]"), DOORS));
        check_page(&tables(&value("[]"), DOORS));
        check_page(&root(DOORS));
    }

    #[test]
    fn a_table_shows_every_verb_with_headers_body_and_parameters() {
        let html = table(
            &value(
                r#"{"name":"lib.books","about":"/table?name=lib.books","info":"<p>i</p>",
                "routes":["/route?path=%2Fb%2F%7Bs%7D&method=get"],
                "select":{"method":"get","uri":"http://h/b?s={^s}&l={l}","headers":{"X-K":"{k}"},
                  "params":[{"variable":"s","required":true},{"variable":"l","default":3}]},
                "update":{"method":"put","uri":"http://h/u","params":[],"headers":{},
                  "body":{"type":"application/xml","content":"<n>{{params.n}}</n>"}}}"#,
            ),
            DOORS,
        );
        check_page(&html);
        for part in [
            "<h2>select</h2>",
            "GET http://h/b?s={^s}&amp;l={l}",
            "X-K",
            "<code>3</code>",
            "<td>yes</td>",
            "<h2>update</h2>",
            "&lt;n&gt;{{params.n}}&lt;/n&gt;",
            ">GET /b/{s}</a>",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
        assert!(!html.contains("<h2>insert</h2>"));
    }

    #[test]
    fn a_route_names_its_tables_and_relatives() {
        let html = route(
            &value(
                r#"{"method":"get","path":"/b/{i}","about":"/route?path=%2Fb","info":"",
                "tables":["/table?name=b2"],"related":[]}"#,
            ),
            DOORS,
        );
        check_page(&html);
        assert!(html.contains("<h1>GET /b/{i}</h1>"));
        assert!(html.contains("<a href=\"table?name=b2\">b2</a>"));
        assert!(html.contains("None"));
    }

    #[test]
    fn nobody_is_told_to_do_what_is_done_already() {
        let advises = |console, follows| {
            root(Doors { console, follows, ..DOORS }).contains("<code>qlio serve --dev</code>")
        };
        assert!(advises(false, false));
        assert!(!advises(false, true));
        assert!(!advises(true, false));
        let html = root(Doors { console: false, follows: true, ..DOORS });
        assert!(html.contains("<code>--disableConsole</code>"), "{html}");
    }

    #[test]
    fn a_page_that_follows_reloads_loads_one_script_and_knows_its_text() {
        let page = |list: &str| tables(&value(list), Doors { follows: true, ..DOORS });
        let text = |html: &str| {
            assert_eq!(html.matches("<script").count(), 1, "{html}");
            assert!(html.contains("<script src=\"pages/refresh.js\" data-page="), "{html}");
            let (_, text) = html.split_once("data-page=\"").expect("a text");
            text.split('"').next().expect("an end").to_owned()
        };
        let one = r#"[{"name":"one","about":"/table?name=one","info":""}]"#;
        assert_eq!(text(&page(one)), text(&page(one)));
        assert_ne!(text(&page(one)), text(&page("[]")));
    }

    #[test]
    fn names_from_scripts_cannot_add_markup() {
        let evil = r#"<img src=x onerror=\"alert(1)\">'"#;
        let list = format!(r#"[{{"name":"{evil}","about":"{evil}","info":"{evil}"}}]"#);
        let html = tables(&value(&list), DOORS);
        check_page(&html);
        assert!(!html.contains("<img"), "{html}");
        let one = format!(
            r#"{{"name":"{evil}","select":{{"method":"{evil}","uri":"{evil}",
                "headers":{{"{evil}":"{evil}"}},"params":[{{"variable":"{evil}","default":"{evil}"}}]}},
                "routes":["{evil}","javascript:x"]}}"#
        );
        let html = table(&value(&one), DOORS);
        check_page(&html);
        assert!(!html.contains("<img"), "{html}");
    }

    #[test]
    fn values_of_unexpected_shapes_give_a_page_all_the_same() {
        for json in
            ["null", "1", "{}", "[1]", r#"{"select":{"params":1,"headers":[]},"routes":{}}"#]
        {
            for html in [tables, routes, table, route].map(|page| page(&value(json), DOORS)) {
                check_page(&html);
            }
        }
    }
}
