//! Matching rules of SRV-10 to SRV-17, and a comparison with a naive matcher.

use proptest::prelude::*;

use super::*;

fn spec(id: usize, path: &str, method: Method) -> RouteSpec<usize> {
    RouteSpec { id, path: path.to_owned(), method, has_optional_params: false, defaults: vec![] }
}

fn gets(paths: &[&str]) -> Matcher<usize> {
    let specs = paths.iter().enumerate().map(|(id, path)| spec(id, path, Method::Get));
    let (matcher, faults) = Matcher::compile(specs);
    assert_eq!(faults, []);
    matcher
}

/// The template that a GET leads to and what its tokens hold, as `name=value` texts.
fn found<'m>(matcher: &'m Matcher<usize>, path: &str) -> Option<(usize, Vec<String>)> {
    let Lookup::Found(found) = matcher.find(&hyper::Method::GET, path) else { return None };
    let chosen: Chosen<'m, usize> = found.choose(&Object::new()).expect("no query needed");
    let scope = chosen
        .scope
        .iter()
        .map(|(name, value)| format!("{name}={}", value.scalar_text().unwrap_or_default()))
        .collect();
    Some((*chosen.id, scope))
}

#[track_caller]
fn check(paths: &[&str], path: &str, expected: Option<(usize, &[&str])>) {
    let found = found(&gets(paths), path);
    let expected =
        expected.map(|(id, scope)| (id, scope.iter().map(|&text| text.to_owned()).collect()));
    assert_eq!(found, expected, "{path} among {paths:?}");
}

#[test]
fn tokens_capture_segments_and_parts_of_them() {
    check(&["/dock/{id}.json"], "/dock/B7.json", Some((0, &["id=B7"])));
    check(&["/x/{a}/y/{b}"], "/x/1/y/2", Some((0, &["a=1", "b=2"])));
    check(&["/x/{a}"], "/x/", None);
    check(&["/x/{a}"], "/x/1/2", None);
    check(&["/x/{a}"], "/x//", None);
    check(&["/dock"], "/Dock", None);
    check(&["/"], "/", Some((0, &[])));
    check(&["/a"], "/", None);
    check(&["/a"], "", None);
    check(&["/a"], "*", None);
}

#[test]
fn captured_values_are_decoded_after_matching() {
    check(&["/p/{x}"], "/p/caf%C3%A9%2Fx", Some((0, &["x=café/x"])));
    check(&["/p/{x}"], "/p/a+b", Some((0, &["x=a+b"])));
    check(&["/p/a b"], "/p/a%20b", Some((0, &[])));
    let matcher = gets(&["/p/{x}"]);
    let Lookup::Found(found) = matcher.find(&hyper::Method::GET, "/p/%E0%A4%A") else {
        panic!("the path matches before it is decoded")
    };
    let refused = found.choose(&Object::new()).expect_err("malformed");
    assert!(matches!(refused, NotChosen::MalformedPath(encoding) if encoding.offset == 6));
}

#[test]
fn one_trailing_slash_is_tolerated_and_may_be_demanded() {
    check(&["/a/b"], "/a/b/", Some((0, &[])));
    check(&["/a/b"], "/a/b//", None);
    check(&["/a/{x}"], "/a/1/", Some((0, &["x=1"])));
    check(&["/a/"], "/a", None);
    check(&["/a/"], "/a/", Some((0, &[])));
    check(&["/a", "/a/"], "/a/", Some((1, &[])));
    check(&["/a/*", "/a"], "/a/", Some((1, &[])));
}

#[test]
fn literal_beats_mixed_beats_token_beats_rest_from_the_left() {
    let paths = ["/seg/*", "/seg/{id}/x", "/seg/m{id}/x", "/seg/me/x"];
    check(&paths, "/seg/me/x", Some((3, &[])));
    check(&paths, "/seg/my/x", Some((2, &["id=y"])));
    check(&paths, "/seg/us/x", Some((1, &["id=us"])));
    check(&paths, "/seg/us/y", Some((0, &[])));
    check(&["/{a}/lit", "/lit/{a}"], "/lit/lit", Some((1, &["a=lit"])));
    // A dead end under the literal falls back to the token.
    check(&["/a/b/c", "/{x}/b/d"], "/a/b/d", Some((1, &["x=a"])));
}

#[test]
fn equal_shapes_go_by_load_order_and_mixed_ones_by_what_follows() {
    check(&["/a/{x}", "/a/{y}"], "/a/1", Some((0, &["x=1"])));
    check(&["/a{x}/{y}", "/{x}b/lit"], "/ab/lit", Some((1, &["x=a"])));
    check(&["/a{x}/lit", "/{x}b/lit"], "/ab/lit", Some((0, &["x=b"])));
}

#[test]
fn a_trailing_star_takes_everything_left() {
    check(&["/files/*"], "/files/a/b/", Some((0, &[])));
    check(&["/files/*"], "/files/", Some((0, &[])));
    check(&["/files/*"], "/files", None);
    check(&["/files*"], "/files-old/x", Some((0, &[])));
    check(&["/f*", "/files*"], "/files", Some((1, &[])));
    check(&["/v{n}-*"], "/v12-a/b", Some((0, &["n=12"])));
    check(&["/*"], "/", Some((0, &[])));
}

#[test]
fn an_optional_segment_may_be_left_out() {
    check(&["/a/{x?}"], "/a/1", Some((0, &["x=1"])));
    check(&["/a/{x?}"], "/a", Some((0, &["x="])));
    check(&["/a/{x?}"], "/a/", Some((0, &["x="])));
    check(&["/a/{x?}/b"], "/a/b", Some((0, &["x="])));
    check(&["/a/{x?}", "/a"], "/a", Some((1, &[])));
    check(&["/{x?}"], "/", Some((0, &["x="])));
}

#[test]
fn methods_are_tables_of_their_own() {
    let (matcher, faults) = Matcher::compile([
        spec(0, "/bk/{id}", Method::Post),
        spec(1, "/bk/me", Method::Get),
        spec(2, "/bk/{other}", Method::Delete),
        spec(3, "/bk/{id}", Method::Put),
    ]);
    assert_eq!(faults, []);
    let id = |method: &hyper::Method, path| match matcher.find(method, path) {
        Lookup::Found(found) => Some(*found.choose(&Object::new()).expect("accepted").id),
        _ => None,
    };
    assert_eq!(id(&hyper::Method::GET, "/bk/me"), Some(1));
    assert_eq!(id(&hyper::Method::HEAD, "/bk/me"), Some(1));
    assert_eq!(id(&hyper::Method::POST, "/bk/me"), Some(0));
    assert_eq!(id(&hyper::Method::DELETE, "/bk/me"), Some(2));
    assert_eq!(id(&hyper::Method::GET, "/bk/7"), None);
    let Lookup::MethodNotAllowed { allow } = matcher.find(&hyper::Method::GET, "/bk/7") else {
        panic!("the path exists")
    };
    assert_eq!(allow, [Method::Post, Method::Put, Method::Delete]);
    assert!(matches!(matcher.find(&hyper::Method::GET, "/nope"), Lookup::Unknown));
    assert_eq!(matcher.methods("/bk/me").len(), 4);
    assert_eq!(matcher.methods("/nope"), []);
}

#[test]
fn the_path_is_final_when_its_variants_refuse_the_query() {
    let matcher = gets(&["/s/me?a={a}", "/s/{x}"]);
    let Lookup::Found(found) = matcher.find(&hyper::Method::GET, "/s/me") else {
        panic!("the path exists")
    };
    assert!(matches!(found.choose(&Object::new()), Err(NotChosen::Missing(_))));
}

#[test]
fn duplicates_and_faulty_routes_are_left_out_and_reported() {
    let (matcher, faults) = Matcher::compile([
        spec(0, "/s?a={x}&b={y}", Method::Get),
        spec(1, "/s?b={y}&a={x}", Method::Get),
        spec(2, "/s?b={y}&a={x}", Method::Post),
        spec(3, "/s?a={z}&b={y}", Method::Get),
        spec(4, "/{a.b}", Method::Get),
    ]);
    assert_eq!(matcher.len(), 3);
    let found: Vec<_> = faults.iter().map(|fault| (fault.index, fault.message.as_str())).collect();
    assert_eq!(found[0], (1, "Route already defined"));
    assert_eq!((found[1].0, faults[1].offset, faults.len()), (4, 1, 2));
}

#[test]
fn many_routes_are_all_found() {
    let paths: Vec<_> = (0..500).map(|n| format!("/v{}/thing{n}/{{id}}/end", n % 7)).collect();
    let matcher = gets(&paths.iter().map(String::as_str).collect::<Vec<_>>());
    for n in 0..500 {
        let path = format!("/v{}/thing{n}/x{n}/end", n % 7);
        assert_eq!(found(&matcher, &path), Some((n, vec![format!("id=x{n}")])));
    }
}

/// Matches one template against a path without any tree; the rank to compare matches by.
fn naive(template: &str, path: &str) -> Option<Vec<u8>> {
    let (wanted, mut given): (Vec<_>, Vec<_>) =
        (template[1..].split('/').collect(), path[1..].split('/').collect());
    if given.len() == wanted.len() + 1 && given.last() == Some(&"") {
        given.pop();
    }
    if wanted.len() != given.len() {
        return None;
    }
    wanted
        .iter()
        .zip(given)
        .map(|(wanted, given)| match wanted.split_once("{t}") {
            None => (*wanted == given).then_some(0),
            Some(("", "")) => (!given.is_empty()).then_some(2),
            Some((before, after)) => (given.len() > before.len() + after.len()
                && given.starts_with(before)
                && given.ends_with(after))
            .then_some(1),
        })
        .collect()
}

proptest! {
    #[test]
    fn the_tree_finds_what_trying_every_template_finds(
        templates in proptest::collection::vec("(/(a|b|ab|\\{t\\}|a\\{t\\}|\\{t\\}b)){1,3}", 1..12),
        path in "(/(a|b|ab|aab|abb|c)){1,3}/?",
    ) {
        let mut unique: Vec<&str> = Vec::new();
        for template in &templates {
            if !unique.contains(&template.as_str()) {
                unique.push(template);
            }
        }
        let best = unique
            .iter()
            .enumerate()
            .filter_map(|(id, template)| Some((naive(template, &path)?, id)))
            .min();
        let found = found(&gets(&unique), &path).map(|(id, _)| id);
        prop_assert_eq!(found, best.map(|(_, id)| id), "{} among {:?}", path, unique);
    }

    #[test]
    fn any_path_is_answered_without_panic(path in "[/%a-c0-9.é{}*?-]{0,40}") {
        let matcher = gets(&["/a/{x}", "/a/{x?}/c", "/{x}-{y}.c/b", "/c*", "/b/*", "/{x}b%2F{y}"]);
        if let Lookup::Found(found) = matcher.find(&hyper::Method::GET, &path) {
            let _ = found.choose(&Object::new());
        }
    }
}
