//! Long lists of numbers, made piece by piece: whoever makes a million of them lets others go first.

use crate::{budget::Budget, error::RunError};

/// What is made before others may have their turn. Numbers that are looked up where memory is cold take a fifth of
/// a millisecond.
pub(crate) const PIECE: usize = 16 * 1024;

/// Numbers that are made for a unit of work.
const NUMBERS_PER_UNIT: usize = 4;

/// A list of all that an iterator gives, with room for as many as it says that there are.
///
/// # Errors
/// The run has used its processor time.
pub(crate) async fn collect<T>(
    budget: &Budget,
    items: impl Iterator<Item = T>,
) -> Result<Vec<T>, RunError> {
    let mut list = Vec::with_capacity(items.size_hint().0);
    extend(budget, &mut list, items).await?;
    Ok(list)
}

/// A list with the same value everywhere.
///
/// # Errors
/// The run has used its processor time.
pub(crate) async fn repeat<T: Copy>(
    budget: &Budget,
    value: T,
    length: usize,
) -> Result<Vec<T>, RunError> {
    let mut list = Vec::with_capacity(length);
    while list.len() < length {
        let added = PIECE.min(length - list.len());
        list.resize(list.len() + added, value);
        count(budget, added).await?;
    }
    Ok(list)
}

/// Adds all that an iterator gives to a list.
///
/// # Errors
/// The run has used its processor time.
pub(crate) async fn extend<T>(
    budget: &Budget,
    list: &mut Vec<T>,
    items: impl IntoIterator<Item = T>,
) -> Result<(), RunError> {
    let mut items = items.into_iter();
    loop {
        let before = list.len();
        list.extend(items.by_ref().take(PIECE));
        let added = list.len() - before;
        count(budget, added).await?;
        if added < PIECE {
            return Ok(());
        }
    }
}

/// Counts a piece of so many numbers, and lets others go first if it is time.
///
/// # Errors
/// The run has used its processor time.
pub(crate) async fn count(budget: &Budget, numbers: usize) -> Result<(), RunError> {
    if budget.spend(numbers / NUMBERS_PER_UNIT) {
        budget.pause().await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::turns::turns_of;

    #[test]
    fn a_long_list_is_made_in_turns() {
        let length = 8_000_000;
        let (list, turns) = turns_of(async |budget| collect(budget, 0..length).await);
        assert!(list.into_iter().eq(0..length));
        assert!(turns > 1, "{turns} turns");
    }
}
