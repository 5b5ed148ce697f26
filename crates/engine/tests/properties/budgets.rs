//! Runs under limits: a run gives the value that it gives without limits, or the error of a limit
//! (SAF-25, SAF-26).

use std::cell::Cell;

use proptest::{
    collection::vec,
    prelude::{Strategy, any, prop_oneof},
    test_runner::{Config, TestCaseError, TestRunner},
};
use qlio_engine::Limits;
use qlio_testkit::reference::random;

use crate::Bench;

/// Limits around what generated scripts need, some of them far above.
fn limits() -> impl Strategy<Value = Limits> {
    let few = || prop_oneof![1 => 0..6_u64, 1 => 0..40_u64, 2 => 1_000_000..2_000_000_u64];
    (few(), few(), few()).prop_map(|(rows, pairs, requests)| Limits {
        rows,
        pairs,
        requests,
        ..Limits::ROUTE
    })
}

/// The value, or whether a limit was named.
fn outcome(bench: &Bench, text: &str) -> Result<String, bool> {
    bench.run(text, 0).map_err(|message| message.contains("the run asks for "))
}

#[test]
fn a_run_under_limits_gives_its_value_or_the_error_of_a_limit() {
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::default() });
    let free = Bench::new();
    let (refused, kept) = (Cell::new(0), Cell::new(0));
    let outcome = runner.run(&(vec(any::<u8>(), 0..400), limits()), |(tape, limits)| {
        let text = random::script(&tape);
        let bounded = Bench::within(limits);
        let (expected, actual) = (outcome(&free, &text), outcome(&bounded, &text));
        match &actual {
            Err(true) => refused.set(refused.get() + 1),
            _ if actual == expected => kept.set(kept.get() + 1),
            _ => {
                let what =
                    format!("{limits:?}\nexpected {expected:?}\nactual   {actual:?}\n{text}");
                return Err(TestCaseError::fail(what));
            }
        }
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
    let (refused, kept) = (refused.get(), kept.get());
    assert!(refused > 20 && kept > 20, "{refused} refused, {kept} kept");
}
