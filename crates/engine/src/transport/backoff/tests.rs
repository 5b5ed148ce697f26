//! Who is kept away from a failing target, and for how long.

use super::*;

const BOUNDS: Bounds = Bounds { min: Duration::from_millis(100), max: Duration::from_millis(500) };

/// A failure of a run that says something of the target.
fn failure(run: u64) -> Failure {
    Failure { run, is_evidence: true, is_probe: false, own: BOUNDS, shared: BOUNDS }
}

fn back_off() -> BackOff {
    BackOff::with_seed(10, 1)
}

/// The delay of a refusal, and the failures it names.
fn refused(asked: Result<Pass, ErrorKind>) -> (u64, u32) {
    match asked {
        Err(ErrorKind::BackOff { delay_ms, count, .. }) => (delay_ms, count),
        other => panic!("{other:?}"),
    }
}

/// Four runs fail, so that the target is closed for all.
fn close(back_off: &mut BackOff, key: &str, now: Instant) {
    for run in 1..=4 {
        back_off.fail(key, failure(run), now);
    }
}

#[test]
fn the_delay_starts_at_the_fourth_run_and_doubles_up_to_the_maximum() {
    for seed in 0..200 {
        let mut back_off = BackOff::with_seed(10, seed);
        let mut now = Instant::now();
        for run in 1..=4 {
            assert_eq!(back_off.ask("k", run, now), Ok(Pass::Free));
            back_off.fail("k", failure(run), now);
        }
        for (expected, run) in
            [100..200, 200..400, 400..501, 500..501, 500..501].into_iter().zip(5..)
        {
            let (delay, count) = refused(back_off.ask("k", run, now));
            assert!(expected.contains(&delay), "{delay} not in {expected:?}");
            assert_eq!(u64::from(count), run - 1);
            now += Duration::from_millis(delay + 1);
            assert_eq!(back_off.ask("k", run, now), Ok(Pass::Probe));
            back_off.fail("k", Failure { is_probe: true, ..failure(run) }, now);
        }
    }
}

#[test]
fn one_run_keeps_itself_away_and_nobody_else() {
    let mut back_off = back_off();
    let now = Instant::now();
    for _ in 0..50 {
        back_off.fail("k", failure(1), now);
    }
    assert_eq!(refused(back_off.ask("k", 1, now)), (500, 50));
    assert_eq!(back_off.ask("k", 2, now), Ok(Pass::Free));
    assert_eq!(back_off.ask("k", 1, now + BOUNDS.max), Ok(Pass::Free), "when its delay is over");
    for run in 2..=3 {
        back_off.fail("k", failure(run), now);
        assert_eq!(back_off.ask("k", 9, now), Ok(Pass::Free), "after {run} runs");
    }
    back_off.fail("k", failure(4), now);
    let (delay, count) = refused(back_off.ask("k", 9, now));
    assert!(delay < 200 && count == 4, "the fifty count once: {delay} ms, {count}");
}

#[test]
fn failures_of_others_count_for_a_run_that_fails_too() {
    let mut back_off = back_off();
    let now = Instant::now();
    back_off.fail("k", failure(1), now);
    back_off.fail("k", failure(2), now);
    back_off.fail("k", failure(3), now);
    assert_eq!(back_off.ask("k", 3, now), Ok(Pass::Free));
    back_off.fail("k", failure(3), now);
    assert_eq!(refused(back_off.ask("k", 3, now)).1, 4);
    assert_eq!(back_off.ask("k", 4, now), Ok(Pass::Free));
}

#[test]
fn what_is_no_evidence_keeps_only_its_own_run_away() {
    let mut back_off = back_off();
    let now = Instant::now();
    for run in 1..=100 {
        for _ in 0..4 {
            back_off.fail("k", Failure { is_evidence: false, ..failure(run) }, now);
        }
        assert_eq!(refused(back_off.ask("k", run, now)).1, 4);
    }
    assert_eq!(back_off.ask("k", 101, now), Ok(Pass::Free));
}

#[test]
fn bounds_of_a_run_bind_nobody_else() {
    let mut back_off = back_off();
    let now = Instant::now();
    let own = Bounds { min: Duration::from_hours(1), max: Duration::from_hours(2) };
    for run in 1..=4 {
        back_off.fail("k", Failure { own, ..failure(run) }, now);
    }
    let (delay, _) = refused(back_off.ask("k", 9, now));
    assert!(delay < 200, "{delay}");
}

#[test]
fn one_probe_goes_through_and_the_others_wait_for_its_outcome() {
    let mut back_off = back_off();
    let now = Instant::now();
    close(&mut back_off, "k", now);
    // So that the target is not forgotten meanwhile.
    let own = Bounds { min: BOUNDS.min, max: PROBE_TIME_MAX };
    back_off.fail("k", Failure { own, ..failure(4) }, now);
    let later = now + BOUNDS.max;
    assert_eq!(back_off.ask("k", 5, later), Ok(Pass::Probe));
    for run in 5..20 {
        assert!(back_off.ask("k", run, later).is_err());
    }
    back_off.give_back("k");
    assert_eq!(back_off.ask("k", 6, later), Ok(Pass::Probe), "the first said nothing");
    let much_later = later + PROBE_TIME_MAX;
    assert_eq!(back_off.ask("k", 7, much_later), Ok(Pass::Probe), "nor did the second, for long");
    back_off.succeed("k");
    assert_eq!(back_off.ask("k", 8, much_later), Ok(Pass::Free));
}

#[test]
fn what_was_under_way_when_a_target_was_closed_does_not_prolong_it() {
    let mut back_off = back_off();
    let now = Instant::now();
    close(&mut back_off, "k", now);
    let before = refused(back_off.ask("k", 99, now));
    for run in 5..60 {
        back_off.fail("k", failure(run), now);
    }
    assert_eq!(refused(back_off.ask("k", 99, now)), before);
}

#[test]
fn a_success_clears_everything() {
    let mut back_off = back_off();
    let now = Instant::now();
    close(&mut back_off, "k", now);
    assert!(back_off.ask("k", 9, now).is_err());
    back_off.succeed("k");
    assert_eq!(back_off.ask("k", 9, now), Ok(Pass::Free));
    assert!(back_off.is_empty() && back_off.by_use.is_empty());
}

#[test]
fn the_least_recently_used_target_is_forgotten_first() {
    let mut back_off = BackOff::with_seed(2, 1);
    let now = Instant::now();
    close(&mut back_off, "a", now);
    close(&mut back_off, "b", now);
    assert!(back_off.ask("a", 9, now).is_err());
    back_off.fail("c", failure(1), now);
    assert_eq!(back_off.entries.len(), 2);
    assert!(back_off.ask("a", 9, now).is_err());
    assert_eq!(back_off.ask("b", 9, now), Ok(Pass::Free));
}

#[test]
fn an_idle_target_is_forgotten() {
    let mut back_off = back_off();
    let now = Instant::now();
    close(&mut back_off, "a", now);
    let later = now + BOUNDS.max * IDLE_FACTOR + Duration::from_millis(1);
    assert_eq!(back_off.ask("b", 9, later), Ok(Pass::Free));
    assert!(back_off.is_empty());
}

#[test]
fn a_target_remembers_few_runs() {
    let mut back_off = back_off();
    let now = Instant::now();
    for run in 0..1000 {
        back_off.fail("k", Failure { is_evidence: false, ..failure(run) }, now);
    }
    assert_eq!(back_off.entries["k"].runs.len(), RUNS_MAX);
}

#[test]
fn extreme_bounds_and_counts_do_not_overflow() {
    let mut back_off = back_off();
    let bounds = Bounds { min: Duration::MAX, max: Duration::MAX };
    let now = Instant::now();
    for run in 0..100 {
        let failure = Failure { own: bounds, shared: bounds, is_probe: true, ..failure(run) };
        back_off.fail("a", failure, now);
    }
    assert!(back_off.ask("a", 1, now).is_err());
}
