//! The ejs dialect.

use super::*;
use qlio_data::Object;

fn render_with(template: &str, params: &str) -> Result<String, ScriptError> {
    let sandbox = Sandbox::new(SandboxLimits { time_ms: 100, ..SandboxLimits::default() });
    let statement = object(r#"{"type": "insert"}"#);
    let session = HookSession::new(&sandbox, &Realm::without_files(), object(params), statement);
    session.render(&EjsTemplate::new("n.ejs", template))
}

fn render(template: &str, params: &str) -> String {
    render_with(template, params).unwrap()
}

#[test]
fn values_are_escaped_or_raw() {
    let params = r#"{"n": "x < 'y' & z > \"q\"", "e": "&lt;"}"#;
    assert_eq!(
        render("<n><%= params.n %></n>", params),
        "<n>x &lt; 'y' &amp; z &gt; &quot;q&quot;</n>"
    );
    assert_eq!(render("<%- params.n %>|<%= params.e %>", params), "x < 'y' & z > \"q\"|&lt;");
    assert_eq!(
        render("[<%= params.ghost %>]<%= statement.type %><%= null %>", params),
        "[undefined]insertnull"
    );
    assert_eq!(render("åß日 '\\n' \" \\ <%= '日' %>", "{}"), "åß日 '\\n' \" \\ 日");
}

#[test]
fn code_loops_and_functions_mix_with_text() {
    let params = r#"{"l": ["a", "b"]}"#;
    assert_eq!(
        render("<% for (i = 0; i < params.l.length; i++) { %>(<%= params.l[i] %>)<% } %>", params),
        "(a)(b)"
    );
    assert_eq!(
        render(
            "<% function item(x) { %><i><%= x %></i><% } %><% params.l.forEach(function (x) { item(x); }) %>",
            params
        ),
        "<i>a</i><i>b</i>"
    );
    assert_eq!(
        render("<% if (params.l instanceof Array) { -%>\nyes\n<% } -%>\nend", params),
        "yes\nend"
    );
    assert_eq!(render("<%= 1 // one\n%>,<% // note\n%>x", "{}"), "1,x");
    assert_eq!(render("", "{}"), "");
    assert_eq!(render("a\nb\r\n<%= 1 %>\n", "{}"), "a\nb\r\n1\n");
}

#[test]
fn tags_that_follow_each_other_are_statements_of_their_own() {
    let params = r#"{"l": ["a", "b"]}"#;
    assert_eq!(render("<% var a = 1 %><% var b = 2 %><%= a + b %>", params), "3");
    assert_eq!(
        render(
            "<% function f(x) { %>(<%= x %>)<% } %><% f(1) %><% f(2) // two %><% f(3) %>",
            params
        ),
        "(1)(2)(3)"
    );
    assert_eq!(
        render("<% if (params.no) { %><% f() %><% } %><% else { %>else<% } %>", params),
        "else"
    );
    assert_eq!(
        render("<% try { %><% params.no.x %><% } %><% catch (e) { %>caught<% } %>", params),
        "caught"
    );
    assert_eq!(render("<% params.l.map( %><% String) %>x", params), "x");
}

#[test]
fn code_may_write_to_the_buffer_itself() {
    assert_eq!(render("a<% function tag(n) { buf.push('<', n, '>') } tag('b') %>c", "{}"), "a<b>c");
}

#[test]
fn raw_tags_print_nothing_for_what_is_missing() {
    assert_eq!(render("[<%- params.ghost %><%- null %><%- [1, null, [2]] %>]", "{}"), "[1,,2]");
}

#[test]
fn filters_apply_in_order() {
    let params = r#"{"l": [3, 1, 2], "o": [{"k": "b"}, {"k": "a"}], "t": "one two three"}"#;
    for (filter, expected) in [
        ("params.l | first", "3"),
        ("params.l | last", "2"),
        ("params.l | sort | join:'-'", "1-2-3"),
        ("params.l | size | plus:1 | times:2 | minus:2 | divided_by:3", "2"),
        ("params.o | sort_by:'k' | map:'k' | join", "a, b"),
        ("params.t | capitalize", "One two three"),
        ("'oNE' | capitalize", "ONE"),
        ("params.t | upcase | truncate:3", "ONE"),
        ("params.t | truncate_words:2 | replace:'one', '1'", "1 two"),
        ("params.t | prepend:'<' | append:'>'", "&lt;one two three&gt;"),
        ("'ab' | reverse", "ba"),
        ("params.o | last | get:'k'", "a"),
        ("params.l | json", "[3,1,2]"),
        ("params.ghost || 'x|y' | upcase", "X|Y"),
        ("params.t | length", "13"),
        ("'AB' | downcase", "ab"),
    ] {
        assert_eq!(render(&format!("<%=: {filter} %>"), params), expected, "{filter}");
    }
    assert!(render_with("<%=: 1 | nope %>", "{}").unwrap_err().message.contains("`nope`"));
}

#[test]
fn undeclared_names_do_not_meet_the_next_rendering() {
    let sandbox = Sandbox::new(SandboxLimits::default());
    let realm = Realm::without_files();
    let template =
        EjsTemplate::new("n.ejs", "<%= typeof counter %><% counter = 1 %><%= counter %>");
    for _ in 0..2 {
        let session = HookSession::new(&sandbox, &realm, Object::new(), Object::new());
        assert_eq!(session.render(&template).unwrap(), "undefined1");
    }
}

#[test]
fn errors_are_told_when_rendering_with_their_line() {
    let error = render_with("a\nb\n<n>\n<%= params.ghost.deep %>", "{}").unwrap_err();
    assert_eq!(
        (error.file.as_deref(), error.line, error.column),
        (Some("n.ejs"), Some(4), None),
        "{error:?}"
    );
    // A comment that ends with its tag moves no line below it.
    for comment in ["<% // one %>", "<%= 1 // one\n%>", "<% /* // */ %><% // two %>\n<%= '//' %>"] {
        let template = format!("{comment}\n\n<%= params.ghost.deep %>");
        let error = render_with(&template, "{}").unwrap_err();
        assert_eq!(error.line, Some(comment.matches('\n').count() as u32 + 3), "{comment}");
    }
    for end in ["\n", "\r\n", "\r", "\u{2028}"] {
        let template = format!("a{end}b{end}<% var x = 1{end} %>{end}<%= params.ghost.deep %>");
        let error = render_with(&template, "{}").unwrap_err();
        assert_eq!(error.line, Some(5), "{end:?}");
    }
    let error = render_with("a\n<% if ( %>", "{}").unwrap_err();
    assert_eq!((error.kind, error.line), (ScriptErrorKind::Thrown, Some(2)), "{error:?}");
    assert!(render_with("a\n<% x", "{}").unwrap_err().message.contains("line 2"));
    assert_eq!(render_with("<% throw 'own' %>", "{}").unwrap_err().message, "own");
    assert!(render_with("<% include x %>", "{}").is_err());
    let error = render_with("<% for (;;) {} %>", "{}").unwrap_err();
    assert_eq!(error.message, "Template n.ejs exceeded its time limit");
}

#[test]
fn a_template_shares_the_bag_of_the_tables_hooks() {
    let directory = directory(&[(
        "p.js",
        "exports['patch uri'] = function (args) { args.params.l = [1]; return args.uri; };",
    )]);
    let sandbox = Sandbox::new(SandboxLimits::default());
    let realm = Realm::new(&directory);
    let patch = Patch::load(&sandbox, &realm, Path::new("p.js")).unwrap();
    let session = HookSession::new(&sandbox, &realm, object(r#"{"a": [2]}"#), Object::new());
    session.call(&patch, HookArgs::PatchUri { uri: "http://h/" }).unwrap();
    let template = EjsTemplate::new(
        "n.ejs",
        "<%= params.l instanceof Array %><%= params.a instanceof Array %><%= params.l[0] + params.a[0] %>",
    );
    assert_eq!(session.render(&template).unwrap(), "truetrue3");
}

#[test]
fn a_template_longer_than_the_limit_is_refused() {
    let sandbox = Sandbox::new(SandboxLimits { template_bytes: 10, ..SandboxLimits::default() });
    let session = HookSession::new(&sandbox, &Realm::without_files(), Object::new(), Object::new());
    let error = session.render(&EjsTemplate::new("n.ejs", "01234567890")).unwrap_err();
    assert_eq!(error.kind, ScriptErrorKind::Load);
}

#[test]
fn a_template_that_does_not_compile_is_not_compiled_again() {
    let render_in = |memory_bytes: usize, template: &EjsTemplate| {
        let sandbox = Sandbox::new(SandboxLimits { memory_bytes, ..SandboxLimits::default() });
        let realm = Realm::without_files();
        let session = HookSession::new(&sandbox, &realm, object("{}"), object("{}"));
        session.render(template).map_err(|error| (error.kind, error.message, error.line))
    };
    let memory_bytes = SandboxLimits::default().memory_bytes;
    let broken = EjsTemplate::new("n.ejs", "a\n<% if ( %>");
    let first = render_in(memory_bytes, &broken).unwrap_err();
    assert_eq!(first.2, Some(2));
    // Without memory there is no compiling, but what is known is known, also to a copy.
    assert_eq!(render_in(0, &broken.clone()), Err(first));

    // What ran out of memory, or throws, may work another time.
    let sound = EjsTemplate::new("n.ejs", "<% if (params.x) { throw new Error('no') } %>ok");
    assert_eq!(render_in(0, &sound).unwrap_err().0, ScriptErrorKind::Memory);
    assert_eq!(render_in(memory_bytes, &sound), Ok("ok".to_owned()));
}
