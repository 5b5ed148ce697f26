//! A failing case made small: fewer choices, and smaller ones, as long as it fails.

/// The most cases that are tried to make one small.
const ATTEMPTS_MAX: u32 = 3000;

/// The choices of the tables and of the query, of which fewer and smaller ones are tried.
pub(crate) fn shrink(
    mut tables: Vec<u32>,
    mut question: Vec<u32>,
    fails: impl Fn(&[u32], &[u32]) -> bool,
) -> (Vec<u32>, Vec<u32>) {
    let mut attempts = ATTEMPTS_MAX;
    loop {
        let before = (tables.clone(), question.clone());
        question = smaller(question, &mut attempts, |choices| fails(&tables, choices));
        tables = smaller(tables, &mut attempts, |choices| fails(choices, &question));
        if attempts == 0 || before == (tables.clone(), question.clone()) {
            return (tables, question);
        }
    }
}

fn smaller(mut choices: Vec<u32>, attempts: &mut u32, fails: impl Fn(&[u32]) -> bool) -> Vec<u32> {
    let mut keep = |choices: &mut Vec<u32>, tried: Vec<u32>| {
        if *attempts == 0 || tried == *choices {
            return false;
        }
        *attempts -= 1;
        let is_kept = fails(&tried);
        if is_kept {
            *choices = tried;
        }
        is_kept
    };
    for size in [16, 8, 4, 2, 1] {
        let mut at = 0;
        while at < choices.len() {
            let end = (at + size).min(choices.len());
            let mut without = choices.clone();
            without.drain(at..end);
            let mut zeroed = choices.clone();
            zeroed[at..end].fill(0);
            let is_smaller = keep(&mut choices, without) || keep(&mut choices, zeroed);
            if !is_smaller || at + size >= choices.len() {
                at += size;
            }
        }
    }
    for at in 0..choices.len() {
        for value in 0..choices[at] {
            let mut lowered = choices.clone();
            lowered[at] = value;
            if keep(&mut choices, lowered) {
                break;
            }
        }
    }
    choices
}

#[test]
fn a_case_is_shrunk_to_what_makes_it_fail() {
    let fails = |tables: &[u32], question: &[u32]| {
        tables.iter().any(|choice| *choice > 4) && question.contains(&7)
    };
    let shrunk = shrink(vec![1, 9, 3, 8, 2], vec![0, 5, 7, 7, 1], fails);
    assert_eq!(shrunk, (vec![5], vec![7]));
}
