//! The scheduler under every kind of plan and every order of completions: whatever is demanded runs
//! once, whatever is skipped never, nothing starts early and nothing is left waiting.

use proptest::{collection::vec, prelude::any, prop_assume, proptest, test_runner::Config};
use qlio_data::Value;
use qlio_plan::{
    Branch, Catalog, CompileOptions, NodeId, NodeKind, Origin, Plan, catalog::NoResources, compile,
};
use qlio_testkit::reference::random;

use super::scheduler::Scheduler;
use crate::error::RunError;

fn try_plan(text: &str) -> Result<Plan, String> {
    let options =
        CompileOptions { origin: Origin::Stored, file: "script", resources: &NoResources };
    match compile(text, &Catalog::default(), &options) {
        Ok(compiled) => Ok(compiled.plan),
        Err(problems) => Err(format!("{problems:?}\n{text}")),
    }
}

fn plan_of(text: &str) -> Plan {
    try_plan(text).unwrap_or_else(|report| panic!("{report}"))
}

/// Runs a plan without running its statements: each one ends when, and as, the choices say.
struct Simulation<'p> {
    plan: &'p Plan,
    scheduler: Scheduler<'p>,
    choices: &'p [u8],
    running: Vec<NodeId>,
    is_started: Vec<bool>,
    /// The chain that begins here has an outcome, the block is decided or the try is over.
    is_settled: Vec<bool>,
    is_skipped: Vec<bool>,
    /// In a branch that was taken.
    is_open: Vec<bool>,
}

impl<'p> Simulation<'p> {
    fn new(plan: &'p Plan, choices: &'p [u8]) -> Self {
        let count = plan.nodes.len();
        Self {
            plan,
            scheduler: Scheduler::new(plan),
            choices,
            running: Vec::new(),
            is_started: vec![false; count],
            is_settled: vec![false; count],
            is_skipped: vec![false; count],
            is_open: vec![false; count],
        }
    }

    fn choice(&mut self, count: usize) -> usize {
        let Some((first, rest)) = self.choices.split_first() else { return 0 };
        self.choices = rest;
        usize::from(*first) % count
    }

    fn run(mut self) {
        self.scheduler.start();
        loop {
            while let Some(id) = self.scheduler.next_ready() {
                self.start(id);
                self.decide_catches();
            }
            if self.running.is_empty() {
                break;
            }
            let position = self.choice(self.running.len());
            let id = self.running.swap_remove(position);
            self.finish(id);
            self.decide_catches();
        }
        self.check_end();
    }

    fn start(&mut self, id: NodeId) {
        let node = self.plan.node(id);
        assert!(!self.is_started[id.index()], "{id:?} starts twice");
        self.is_started[id.index()] = true;
        let first = node.fallback_of.unwrap_or(id);
        assert!(!self.is_skipped[first.index()], "{id:?} was skipped and starts");
        for awaited in node.dependencies.iter().chain(&node.orphans) {
            assert!(self.is_over(*awaited), "{id:?} starts before {awaited:?} is over");
        }
        if let Some(block) = node.block {
            assert!(self.is_open[first.index()], "{id:?} starts before {block:?} is decided");
            if let (Branch::Finally, NodeKind::Try(parts)) =
                (block.branch, &self.plan.node(block.block).kind)
            {
                for inner in parts.catches.iter().flat_map(|catch| &catch.body) {
                    assert!(self.is_complete(*inner), "{id:?} starts before {inner:?} is complete");
                }
            }
        }
        match &node.kind {
            NodeKind::If(block) => {
                let is_true = self.choice(2) == 1;
                let (taken, other) = if is_true {
                    (&block.then, &block.otherwise)
                } else {
                    (&block.otherwise, &block.then)
                };
                self.skip(other);
                self.open(taken);
                self.is_settled[id.index()] = true;
                self.scheduler.decide_if(id, is_true, &mut |_| {});
            }
            NodeKind::Try(block) => {
                self.open(&block.body);
                self.scheduler.begin_try(id);
            }
            _ => self.running.push(id),
        }
    }

    fn finish(&mut self, id: NodeId) {
        let node = self.plan.node(id);
        if let Some(fallback) = node.fallback
            && self.choice(2) == 1
        {
            self.scheduler.open_fallback(fallback);
            return;
        }
        self.is_settled[node.fallback_of.unwrap_or(id).index()] = true;
        self.scheduler.settle(id, Value::int(1));
    }

    fn decide_catches(&mut self) {
        while let Some(id) = self.scheduler.next_undecided_try() {
            let NodeKind::Try(block) = &self.plan.node(id).kind else { panic!("{id:?} is no try") };
            for inner in block.body.iter().chain(&block.condition_dependencies) {
                assert!(self.is_over(*inner), "{id:?} decides before {inner:?} is over");
            }
            for inner in &block.body {
                assert!(self.is_complete(*inner), "{id:?} decides before {inner:?} is complete");
            }
            let chosen: Vec<bool> = block.catches.iter().map(|_| self.choice(2) == 1).collect();
            for (catch, is_chosen) in block.catches.iter().zip(&chosen) {
                if *is_chosen {
                    self.open(&catch.body);
                } else {
                    self.skip(&catch.body);
                }
            }
            self.open(&block.finally);
            self.scheduler.decide_catches(id, &chosen, &mut |_| {});
        }
    }

    fn is_over(&self, id: NodeId) -> bool {
        match &self.plan.node(id).kind {
            NodeKind::Try(_) => self.is_skipped[id.index()] || self.is_complete(id),
            _ => self.is_skipped[id.index()] || self.is_settled[id.index()],
        }
    }

    /// The node and all statements of the branches taken are over.
    fn is_complete(&self, id: NodeId) -> bool {
        if self.is_skipped[id.index()] {
            return true;
        }
        let members = self.members(id);
        let own = match &self.plan.node(id).kind {
            NodeKind::Try(_) => self.is_started[id.index()],
            _ => self.is_settled[id.index()],
        };
        own && members.iter().all(|member| self.is_complete(*member))
    }

    /// The direct statements of a block.
    fn members(&self, id: NodeId) -> Vec<NodeId> {
        match &self.plan.node(id).kind {
            NodeKind::If(block) => [block.then.as_slice(), &block.otherwise].concat(),
            NodeKind::Try(block) => {
                let mut members = [block.body.as_slice(), &block.finally].concat();
                members.extend(block.catches.iter().flat_map(|catch| &catch.body));
                members
            }
            _ => Vec::new(),
        }
    }

    fn open(&mut self, nodes: &[NodeId]) {
        for id in nodes {
            self.is_open[id.index()] = true;
        }
    }

    fn skip(&mut self, nodes: &[NodeId]) {
        for id in nodes {
            assert!(!self.is_started[id.index()], "{id:?} has started and is skipped");
            self.is_skipped[id.index()] = true;
            let members = self.members(*id);
            self.skip(&members);
        }
    }

    fn check_end(self) {
        for node in &self.plan.nodes {
            let (id, index) = (node.id, node.id.index());
            let is_first = node.fallback_of.is_none();
            if is_first && self.is_open[index] && !self.is_skipped[index] {
                assert!(self.is_started[index], "{id:?} stands in a taken branch and never ran");
            }
            if self.is_started[index] && is_first {
                assert!(self.is_complete(id), "{id:?} started and never ended");
            }
            if let Some(place) = node.block
                && place.branch == Branch::Body
                && self.is_started[index]
            {
                assert!(self.is_started[place.block.index()], "{id:?} runs without its try");
            }
        }
        for root in &self.plan.roots {
            assert!(self.is_started[root.index()], "root {root:?} never ran");
        }
        assert!(self.scheduler.into_value().is_some(), "the value was never known");
    }
}

/// Every combination of the first choices, so that small plans are covered wholly.
fn run_all(text: &str) {
    let plan = plan_of(text);
    for bits in 0_u32..4096 {
        let choices: Vec<u8> = (0..12).map(|bit| (bits >> bit & 1) as u8).collect();
        Simulation::new(&plan, &choices).run();
    }
}

#[test]
fn independent_statements_all_run() {
    run_all("a = 1\nb = \"{c}\"\nc = 2\n7\nreturn 5");
}

#[test]
fn a_chain_runs_until_one_alternative_gives_something() {
    run_all("x = 1\ny = 2\na = \"{x}\" || \"{y}\" || 3\nreturn a || x");
}

#[test]
fn only_one_branch_runs_and_readers_of_both_go_on() {
    run_all("n = 1\nif (n) { a = 1 b = \"{a}\" } else { c = 2 }\nd = \"{a}{c}\"\nreturn d || b");
}

#[test]
fn nested_blocks_are_skipped_with_their_branch() {
    let text = "n = 1\nif (n) { try { throw (e) } catch (e) { a = 1 } finally { b = 2 } } \
                else { if (n) { c = 1 } else { d = 1 } }\nreturn [\"{a}\", \"{b}\", \"{c}\", \"{d}\"]";
    run_all(text);
}

#[test]
fn finally_waits_for_the_catches_and_outer_catches_for_inner_tries() {
    let text = "x = 1\ntry { try { throw (e1) y = \"{x}\" } catch (e1) { a = \"{y}\" } \
                finally { b = \"{a}\" } throw (e2) } catch (e1 && e2) { c = \"{b}\" } \
                catch (!e2 || e1) { d = \"{x}\" } finally { f = 1 }\nreturn [\"{c}\", \"{d}\", \"{f}\"]";
    run_all(text);
}

#[test]
fn a_statement_that_only_a_fallback_needs_is_lazy() {
    let plan = plan_of("spare = 1\nreturn 5 || \"{spare}\"");
    // All choices 0: the first alternative gives something.
    let mut scheduler = Scheduler::new(&plan);
    scheduler.start();
    let first = scheduler.next_ready().expect("the value is ready");
    assert_eq!(first, plan.value);
    assert!(scheduler.next_ready().is_none());
}

#[test]
fn a_statement_that_only_an_undecided_branch_needs_is_lazy() {
    let text = "spare = 1\nif (nope) { a = \"{spare}\" }\nreturn [\"{a}\"]";
    let plan = plan_of(text);
    let mut scheduler = Scheduler::new(&plan);
    scheduler.start();
    while let Some(id) = scheduler.next_ready() {
        if let NodeKind::If(_) = &plan.node(id).kind {
            scheduler.decide_if(id, false, &mut |_| {});
        } else {
            assert_ne!(plan.node(id).line, 1, "the statement of line 1 is not needed");
            scheduler.settle(id, Value::int(1));
        }
    }
    assert!(scheduler.into_value().is_some());
}

/// Runs a plan in which statements fail as the choices say; answers whether an error ended it.
fn run_with_failures(plan: &Plan, choices: &[u8]) -> bool {
    let mut choices = choices.iter().copied();
    let mut choice = |count: usize| usize::from(choices.next().unwrap_or(0)) % count;
    let mut scheduler = Scheduler::new(plan);
    let mut running = Vec::new();
    let mut is_started = vec![false; plan.nodes.len()];
    let failure = || RunError::internal("it failed");
    scheduler.start();
    loop {
        while scheduler.next_unbound().is_some() {}
        if let Some((id, error)) = scheduler.next_doomed() {
            assert!(!is_started[id.index()], "{id:?} needs what failed and has started");
            match plan.node(id).fallback {
                Some(fallback) => scheduler.open_fallback(fallback),
                None if scheduler.fail(id, error).is_err() => return true,
                None => {}
            }
        } else if let Some(id) = scheduler.next_undecided_try() {
            let NodeKind::Try(block) = &plan.node(id).kind else { panic!("{id:?} is no try") };
            let chosen: Vec<bool> = block.catches.iter().map(|_| choice(2) == 1).collect();
            let mut blocks = block.catches.iter().zip(&chosen);
            let is_dealt_with = blocks.any(|(catch, is_chosen)| catch.names_error && *is_chosen);
            if let Some(error) = scheduler.caught(id).cloned()
                && !is_dealt_with
            {
                if scheduler.fail_try(id, error).is_err() {
                    return true;
                }
            } else {
                scheduler.decide_catches(id, &chosen, &mut |_| {});
            }
        } else if let Some(id) = scheduler.next_ready() {
            let is_new = !std::mem::replace(&mut is_started[id.index()], true);
            assert!(is_new, "{id:?} starts twice");
            match &plan.node(id).kind {
                NodeKind::If(_) if choice(4) == 1 => {
                    if scheduler.fail(id, failure()).is_err() {
                        return true;
                    }
                }
                NodeKind::If(_) => scheduler.decide_if(id, choice(2) == 1, &mut |_| {}),
                NodeKind::Try(_) => scheduler.begin_try(id),
                _ => running.push(id),
            }
        } else if running.is_empty() {
            if !scheduler.release_stuck() {
                break;
            }
        } else {
            let id = running.swap_remove(choice(running.len()));
            let has_failed = choice(3) == 1;
            match plan.node(id).fallback {
                Some(fallback) if has_failed => scheduler.open_fallback(fallback),
                None if has_failed => {
                    if scheduler.fail(id, failure()).is_err() {
                        return true;
                    }
                }
                _ => scheduler.settle(id, Value::int(1)),
            }
        }
    }
    assert!(scheduler.into_value().is_some(), "the value was never known");
    false
}

#[test]
fn a_failure_that_is_caught_ends_nothing_else() {
    let text = "x = 1\ntry { a = \"{x}\" b = \"{a}\" || 2 if (a) { c = \"{b}\" } \
                try { d = \"{a}\" throw (e) } catch (e) { f = \"{c}\" } finally { g = 1 } } \
                catch (error) { h = \"{error.message}\" } finally { i = \"{error}\" }\n\
                j = \"{a}{error}\"\nreturn [\"{h}\", \"{i}\", \"{j}\"]";
    assert_ends_often(text);
    // The body waits for a statement outside that waits for one of the body.
    assert_ends_often(
        "try { a = 1 b = \"{c}\" } catch (error) { d = \"{b}\" }\nc = \"{a}\"\nreturn d",
    );
}

/// Most combinations of outcomes leave a script that catches errors running.
fn assert_ends_often(text: &str) {
    let plan = plan_of(text);
    let mut ended = 0;
    for bits in 0_u32..65536 {
        let choices: Vec<u8> = (0..16).map(|bit| (bits >> bit & 1) as u8).collect();
        ended += u32::from(!run_with_failures(&plan, &choices));
    }
    assert!(ended > 1000, "only {ended} runs came to their end");
}

proptest! {
    #![proptest_config(Config { failure_persistence: None, ..Config::default() })]

    #[test]
    fn every_plan_runs_to_its_end_in_every_order(
        script in vec(any::<u8>(), 0..400),
        choices in vec(any::<u8>(), 0..200),
    ) {
        let text = random::script(&script);
        let plan = try_plan(&text);
        // Two writes that data flow orders against the text are refused by the planner.
        let is_refused = matches!(&plan, Err(report) if report.contains("circular-reference"));
        prop_assume!(!is_refused);
        let plan = plan.unwrap_or_else(|report| panic!("{report}"));
        Simulation::new(&plan, &choices).run();
    }

    #[test]
    fn every_plan_ends_whatever_fails_in_it(
        script in vec(any::<u8>(), 0..400),
        choices in vec(any::<u8>(), 0..200),
    ) {
        let text = random::script(&script).replace("catch (", "catch (error || ");
        // A script that names itself in circles is refused by the planner.
        if let Ok(plan) = try_plan(&text) {
            run_with_failures(&plan, &choices);
        }
    }
}
