//! Edges, orphans and cycles as the rules of the planner leave them.

use qlio_plan::{NodeId, Plan};

use crate::{line_of, plan, try_plan};

/// The lines that the statement of a line waits for.
fn waits_for(plan: &Plan, line: u32) -> Vec<u32> {
    let lines = |ids: &[NodeId]| ids.iter().map(|id| plan.node(*id).line).collect::<Vec<_>>();
    let nodes = plan.nodes.iter().filter(|node| node.line == line);
    let mut found: Vec<u32> = nodes.flat_map(|node| lines(&node.dependencies)).collect();
    found.sort_unstable();
    found
}

fn orphan_lines(plan: &Plan) -> Vec<u32> {
    plan.node(plan.value).orphans.iter().map(|id| plan.node(*id).line).collect()
}

fn problems(text: &str) -> Vec<String> {
    match try_plan(text) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.iter().map(|problem| line_of(problem, text)).collect(),
    }
}

#[test]
fn every_token_of_a_text_is_a_reference() {
    let plan = plan("a = 1\nb = 2\nc = {\"k\": [\"x {a} {h.{b}}\"]}\nh = {}\nreturn c");
    assert_eq!(waits_for(&plan, 3), [1, 2, 4]);
}

#[test]
fn sources_operands_and_column_tokens_are_references() {
    let plan = plan(
        "t = []\na = 1\nb = {}\nk = \"c\"\ns = []\n\
         return select '{k}' from t where x = a and y = b.c and z in (select q from s where v = \"{^a}\")",
    );
    assert_eq!(waits_for(&plan, 6), [1, 2, 3, 4, 5]);
}

#[test]
fn join_columns_are_no_references() {
    let plan = plan("p = 1\nt = []\nreturn select p.a from t as p, t as q where p.a = q.a");
    assert_eq!(waits_for(&plan, 3), [2]);
}

#[test]
fn a_name_is_awaited_once() {
    let plan = plan("a = 1\nreturn [\"{a}\", \"{a}\", \"{a.b}\"]");
    assert_eq!(waits_for(&plan, 2), [1]);
}

#[test]
fn later_writers_wait_for_earlier_ones() {
    let plan = plan(
        "o = {}\nn = insert into o (a) values (1)\nif (o) { m = insert into o (b) values (2) }\nreturn [\"{n}\", \"{m}\"]",
    );
    assert_eq!(waits_for(&plan, 3), [1, 1, 2]);
}

#[test]
fn only_what_nothing_needs_is_an_orphan() {
    let plan = plan("a = 1\nb = \"{a}\"\nc = 3\nd = 4\nreturn \"{c}\" || \"{d}\"");
    assert_eq!(orphan_lines(&plan), [2]);
}

#[test]
fn what_only_blocks_need_is_lazy_and_unneeded_blocks_are_not() {
    let plan = plan("a = 1\nif (x) { b = \"{a}\" }\nif (x) { c = 1 }\nreturn \"{c}\"");
    assert_eq!(orphan_lines(&plan), [2]);
}

#[test]
fn a_write_is_not_lazy_because_a_branch_writes_after_it() {
    let plan = plan(
        "o = {}\ninsert into o (a) values (1)\nif (x) { insert into o (b) values (2) }\nreturn o",
    );
    assert!(orphan_lines(&plan).contains(&2), "{:?}", orphan_lines(&plan));
}

// Text order holds only where nothing else orders two writes (EXE-7).
#[test]
fn data_flow_orders_writes_before_the_text_does() {
    let text = "o = {}\nn = insert into o (a) values (\"{m.b}\")\nm = insert into o (b) values (1)\nreturn n";
    assert_eq!(problems(text), Vec::<String>::new());
}

// `k` writes after `n`, although `n` itself waits for the write between them.
#[test]
fn a_write_waits_for_all_earlier_writes_in_whatever_order_they_run() {
    let plan = plan(
        "o = {}\nn = insert into o (a) values (\"{m.b}\")\nm = insert into o (b) values (1)\nk = insert into o (c) values (2)\nreturn k",
    );
    assert_eq!(waits_for(&plan, 4), [1, 2]);
}

#[test]
fn creates_start_before_other_orphans() {
    let plan = plan("a = 1\ncreate table t on select get from 'http://api.test/t'\nreturn 1");
    assert_eq!(orphan_lines(&plan), [2, 1]);
}

#[test]
fn a_cycle_names_its_textually_first_statement() {
    let text = "x = 1\nb = \"{c}\"\nc = \"{d}\"\nd = \"{b}\"\nreturn b";
    let found = problems(text);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("2:1 Line 2: Circular reference b"), "{found:?}");
}

#[test]
fn a_cycle_through_a_block_is_found() {
    for text in [
        "if (a) { a = 1 }\nreturn a",
        "b = \"{a}\"\nif (b) { a = 1 }\nreturn a",
        "try { b = \"{a}\" throw (e) } catch (e) { a = 1 }\nreturn a",
        "try { throw (e) } catch (e || !a) { a = 1 }\nreturn 1",
    ] {
        let found = problems(text);
        assert!(found.iter().any(|line| line.contains("Circular reference")), "{text}: {found:?}");
    }
}

// A catch waits for everything inside the body, at any depth, and finally for the catches.
#[test]
fn a_cycle_through_the_end_of_a_try_is_found() {
    for text in [
        "try { if (y) { b = \"{c}\" } throw (e) } catch (e) { c = 1 }\nreturn 1",
        "try { throw (e) } catch (e) { a = \"{f}\" } finally { f = 1 }\nreturn 1",
    ] {
        assert!(!problems(text).is_empty(), "no cycle found: {text}");
    }
}

#[test]
fn a_chain_may_not_need_itself_but_may_need_what_its_alternatives_share() {
    assert!(!problems("a = 1 || \"{a}\"\nreturn a").is_empty());
    assert!(problems("x = 1\na = \"{x}\" || \"{x}\"\nreturn a").is_empty());
}

#[test]
fn long_chains_of_statements_are_planned() {
    let link = |number: u32| format!("v{number} = \"{{v{}}}\"", number - 1);
    let links: Vec<_> = (1..2000).map(link).collect();
    let plan = plan(&format!("v0 = 1\n{}\nreturn v1999", links.join("\n")));
    assert_eq!(waits_for(&plan, 2000), [1999]);
    assert!(plan.is_simple);
}
