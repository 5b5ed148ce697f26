//! The checks of EXE-10 with their literal messages.

use qlio_syntax::analyse;

/// The full messages of all problems of a text.
fn messages(text: &str) -> Vec<String> {
    analyse(text).diagnostics.iter().map(|one| one.full_message().to_owned()).collect()
}

#[test]
fn every_check_has_its_literal_message() {
    for (text, message) in [
        ("", "Missing script"),
        (" \n ", "Missing script"),
        ("\nr = select a as x, b from t", "Line 2: Not all selected columns are using aliases."),
        (
            "insert into t (a as x, b) values (1, 2)",
            "Line 1: Not all selected columns are using aliases.",
        ),
        ("a = 1\nreturn b", "Line 2: Unresolved symbol 'b'"),
        ("a = 1\nreturn 2 || b", "Line 2: Unresolved symbol 'b'"),
        ("a = 1\na = 2", "Line 2: Duplicate symbol a"),
        ("if (x) { a = 1 }\nelse { a = 2 }", "Line 2: Duplicate symbol a"),
        ("t = 1\ncreate table t", "Line 2: Duplicate symbol t"),
        ("create table t\ncreate table t", "Line 2: Duplicate symbol t"),
        ("a = select * from a", "Line 1: Circular reference a"),
        ("a = delete from a", "Line 1: Circular reference a"),
        ("a = insert into a (b) values (1)", "Line 1: Circular reference a"),
        ("a = select * from t where k = \"x{a.b}\"", "Line 1: Circular reference a"),
        (
            "a = select * from t where k in (select x from u where y = a)",
            "Line 1: Circular reference a",
        ),
        ("a = a.f(1)", "Line 1: Circular reference a"),
        ("a = \"{a}\"", "Line 1: Circular reference a"),
        ("\nb = \"{c}\"\nc = \"{d.{b}.x}\"\nd = 1", "Line 2: Circular reference b"),
        ("if (b) { a = 1 }\nb = \"{a}\"", "Line 1: Circular reference a"),
        ("try { a = \"{m}\" throw (e) } catch (e) { m = 1 }", "Line 1: Circular reference a"),
        ("try { a = \"{error}\" } catch (error) { b = 1 }", "Line 1: Circular reference a"),
        ("try { a = 1 } catch (error) { b = 1 }\nerror = 2", "Line 2: Duplicate symbol error"),
        ("error = 2\ntry { a = 1 } catch (error) { b = 1 }", "Line 2: Duplicate symbol error"),
        (
            "try { a = 1 } catch (error) { b = 1 } try { c = 1 } catch (error) { d = 1 }\nreturn error",
            "Line 2: Unresolved symbol 'error'",
        ),
        (
            "try { try { a = 1 } catch (error) { throw (error) } throw (e) } catch (er) { b = 1 }",
            "Line 1 exception variable er is not thrown inside the try statement.",
        ),
        ("select x from t where u.f(x)", "Line 1: UDF u.f not resolved"),
        (
            "insert \"{o}\" into t (a) values (1)",
            "Line 1: Inserting JSON object cannot co-exist with name value pairs or opaque body.",
        ),
        (
            "insert \"{o}\" into t values (1)",
            "Line 1: Inserting JSON object cannot co-exist with name value pairs or opaque body.",
        ),
        ("insert into t (a)", "Line 1: Values are required if columns are specified."),
        (
            "insert into t (a) values (1, 2)",
            "Line 1: Number of values does not match number of columns.",
        ),
        (
            "insert into t (*) values (1)",
            "Line 1: Number of values does not match number of columns.",
        ),
        ("insert into t values (1, 2)", "Line 1: Values do not have paired columns."),
        (
            "create table t via http on select do find at 'u'",
            "Line 1: unknown verb method find found.",
        ),
        (
            "create table t on select get from 'u'\non select get from 'v'",
            "Line 1: Duplicate 'on select' for table t",
        ),
        (
            "a = 1\ntry { b = 1 } catch (e) { throw (e) }",
            "Line 2 exception variable e is not thrown inside the try statement.",
        ),
    ] {
        assert_eq!(messages(text), [message], "{text}");
    }
}

#[test]
fn joins_name_what_is_not_prefixed() {
    for (text, message) in [
        (
            "select * from a as a, b as b where a.x = b.x",
            "Line 1: select * is not supported in joins",
        ),
        (
            "select x from a as a, b as b where a.x = b.x",
            "Line 1: Column x not prefixed or prefix not found",
        ),
        (
            "select a.x from a as a, b as b where a.x = b.x and c.y = 1",
            "Line 1: Column c.y not prefixed or prefix not found",
        ),
        (
            "select a.x from a as a, b as b where a.x = a.y",
            "Line 1: Column a.y not prefixed or prefix not found",
        ),
        (
            "u = require('u') select a.x from a as a, b as b where a.x = b.x and u.f(y)",
            "Line 1: Arg y not prefixed",
        ),
        (
            "u = require('u') select a.x from a as a, b as b where a.x = b.x and u.f(c.y)",
            "Line 1: Alias of arg c.y not found",
        ),
    ] {
        assert_eq!(messages(text), [message], "{text}");
    }
}

#[test]
fn what_is_allowed_raises_nothing() {
    for text in [
        "-- only a comment",
        "select * from nowhere where a = \"{nothing}\" and b = word",
        "b = \"{a}\"\na = 1\nreturn b",
        "end = 1 constructor = 2 toString = 3 return end",
        "o = {\"a\": 1} n = insert into o (b) values (1)",
        "l = [1] rest = delete from l where k = 1",
        "a = select x.v as v, x.w as w from p as x where x.q = 1",
        "select a.x from s as a, t as b where a.x = b.x and a.y = 'z' and b.k in (1, 2)",
        "try { if (x) { try { throw (a) } catch (a) { throw (b) } } } catch (a || b) { m = 1 }",
        "try { throw (e) } catch (e) { m = 1 } finally { f = \"{m}\" }",
        "try { a = 1 } catch (error) { m = \"{error}\" } finally { f = \"{error.code}\" } return error",
        "try { throw (e) } catch (e && !error) { m = 1 }",
        "try { throw (error) } catch (error) { m = \"{error}\" }",
        "try { try { a = 1 } catch (error) { throw (error) } } catch (error) { b = \"{error}\" }",
        "create table t via mongo on select do find at 'u'",
        "create table t via http on select do patch at 'u'",
        "if (a) { b = 1 } else { c = 2 } return b || c",
        "x = {\"x\": \"{ x }\"}",
        "a = select s.x from t as s, u as a where s.k = a.k and s.x = 1",
        "u = require('u.js') r = select u.f(a) as b from t where u.g(c, 'd')",
    ] {
        assert_eq!(messages(text), [""; 0], "{text}");
    }
}

#[test]
fn all_problems_are_reported_in_text_order() {
    let text = "r = select a as x, b from t\ninsert into t (a)\nr = 2\nreturn q";
    assert_eq!(
        messages(text),
        [
            "Line 1: Not all selected columns are using aliases.",
            "Line 2: Values are required if columns are specified.",
            "Line 3: Duplicate symbol r",
            "Line 4: Unresolved symbol 'q'",
        ]
    );
}

#[test]
fn a_script_with_syntax_errors_is_not_checked() {
    assert_eq!(messages("a = }\nreturn a").len(), 1);
}

#[test]
fn unknown_names_come_with_the_nearest_one() {
    for (text, hint) in [
        ("harbour = 1\nreturn harbuor", "did you mean `harbour`?"),
        ("deck = require('d.js')\nselect x from t where dekc.f(x)", "did you mean `deck`?"),
        ("select x from t where u.f(x)", "bind the module first: `u = require(\"….js\")`"),
        ("select x from a as l, b as r where l.k = r.k", "begin it with `l.` or `r.`"),
        (
            "select x from a, b where a.k = b.k",
            "give both tables an alias, and begin each column with one",
        ),
        ("select boat.x from a as boats, b as r where boats.k = r.k", "did you mean `boats`?"),
        (
            "deck = 1\nselect boats.x from a as boats, b as r where boats.k = r.k and deck.f(boat.y)",
            "did you mean `boats`?",
        ),
        ("try { throw (late) } catch (lat) { a = 1 }", "did you mean `late`?"),
        ("create table t via http on select do gte at 'http://h.test/'", "did you mean `get`?"),
    ] {
        let found = analyse(text).diagnostics;
        assert!(found.iter().any(|problem| problem.hints == [hint]), "{text}: {found:?}");
    }
}
