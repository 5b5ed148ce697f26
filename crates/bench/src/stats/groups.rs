//! Which results cannot be told apart: intervals that overlap (`docs/reference/bench.md`).

/// The largest sets of at least two intervals that all overlap each other, each set in the order of
/// `intervals`, the sets by their lowest start. An interval can be in several sets: overlapping is
/// not transitive.
pub fn indistinguishable(intervals: &[(f64, f64)]) -> Vec<Vec<usize>> {
    let mut starts: Vec<usize> = (0..intervals.len()).collect();
    starts.sort_by(|a, b| intervals[*a].0.total_cmp(&intervals[*b].0));
    let mut open: Vec<usize> = Vec::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut has_grown = false;
    for index in starts {
        let start = intervals[index].0;
        let closes = open.iter().any(|other| intervals[*other].1 < start);
        // A set is complete when the first of its members ends.
        if closes && has_grown {
            keep(&mut groups, &open);
        }
        has_grown = true;
        open.retain(|other| intervals[*other].1 >= start);
        open.push(index);
    }
    keep(&mut groups, &open);
    groups
}

fn keep(groups: &mut Vec<Vec<usize>>, open: &[usize]) {
    if open.len() > 1 {
        let mut group = open.to_vec();
        group.sort_unstable();
        groups.push(group);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_published_pair_overlaps_and_the_slow_library_does_not() {
        let around = |rate: f64, percent: f64| {
            (rate * (1.0 - percent / 100.0), rate * (1.0 + percent / 100.0))
        };
        let intervals = [around(1771.0, 8.68), around(271.0, 2.18), around(1824.0, 2.75)];
        assert_eq!(indistinguishable(&intervals), [vec![0, 2]]);
    }

    #[test]
    fn a_chain_is_two_groups() {
        assert_eq!(
            indistinguishable(&[(0.0, 2.0), (1.0, 4.0), (3.0, 5.0)]),
            [vec![0, 1], vec![1, 2]]
        );
    }

    #[test]
    fn intervals_that_only_touch_overlap() {
        assert_eq!(indistinguishable(&[(0.0, 1.0), (1.0, 2.0)]), [vec![0, 1]]);
        assert!(indistinguishable(&[(0.0, 1.0), (1.1, 2.0)]).is_empty());
        assert!(indistinguishable(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn groups_are_the_maximal_sets_of_pairwise_overlaps(
            raw in prop::collection::vec((0_u8..20, 0_u8..6), 0..9),
        ) {
            let intervals: Vec<(f64, f64)> =
                raw.iter().map(|(start, length)| (f64::from(*start), f64::from(start + length))).collect();
            let overlaps = |a: usize, b: usize| {
                intervals[a].0 <= intervals[b].1 && intervals[b].0 <= intervals[a].1
            };
            let sets: Vec<Vec<usize>> = (0..1_u32 << intervals.len())
                .map(|bits| (0..intervals.len()).filter(|at| bits >> at & 1 == 1).collect::<Vec<_>>())
                .filter(|set| set.iter().all(|a| set.iter().all(|b| overlaps(*a, *b))))
                .collect();
            let mut expected: Vec<Vec<usize>> = sets
                .iter()
                .filter(|set| set.len() > 1)
                .filter(|set| {
                    !sets.iter().any(|other| other.len() > set.len() && set.iter().all(|at| other.contains(at)))
                })
                .cloned()
                .collect();
            let mut found = indistinguishable(&intervals);
            expected.sort();
            found.sort();
            prop_assert_eq!(found, expected);
        }
    }
}
