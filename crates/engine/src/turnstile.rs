//! The turnstile of a worker: of those who let others go first, one goes on in each turn.
//!
//! A worker polls all tasks that are ready, and only then looks what has arrived. A hundred runs that each let others go
//! first after a millisecond would so keep a request that has nothing to compute waiting for a tenth of a second, at
//! each of its steps. Here they stand in a row, and what has arrived is served between any two of them.

use std::{
    cell::RefCell,
    collections::VecDeque,
    future::poll_fn,
    task::{Context, Poll, Waker},
};

use tokio::task::yield_now;

thread_local! {
    static ROW: RefCell<Row> = const { RefCell::new(Row::empty()) };
}

/// Those of a thread who wait, in the order in which they came.
struct Row {
    /// How many have joined so far: the number of the last one.
    joined: u64,
    /// Those up to this number may go on, whether they have heard of it or not: nobody waits for one that is not polled.
    released: u64,
    waiting: VecDeque<(u64, Waker)>,
    /// Wakes what [`turn`]s the turnstile, while it waits for somebody to join.
    turner: Option<Waker>,
    is_turned: bool,
}

/// A place in the row of this thread.
struct Place {
    /// 0 before it has joined.
    number: u64,
}

/// Marks the thread as one whose turnstile is turned.
struct Turner;

/// Lets others of this thread go first: what is ready, what has arrived, and those who wait here already. Where nobody
/// [`turn`]s, only what is ready.
///
/// # Cancellation
/// Safe: whoever is dropped leaves the row.
pub async fn give_way() {
    if !ROW.with_borrow(|row| row.is_turned) {
        yield_now().await;
        return;
    }
    let mut place = Place { number: 0 };
    poll_fn(|context| place.wait(context)).await;
}

/// Turns the turnstile of this thread, for as long as it is polled: a task of its own on each worker.
pub async fn turn() {
    let _turner = Turner::begin();
    loop {
        poll_fn(|context| {
            ROW.with_borrow_mut(|row| {
                if !row.waiting.is_empty() {
                    return Poll::Ready(());
                }
                row.turner = Some(context.waker().clone());
                Poll::Pending
            })
        })
        .await;
        // Until the worker has looked what has arrived.
        yield_now().await;
        let next = ROW.with_borrow_mut(|row| {
            let (number, waker) = row.waiting.pop_front()?;
            row.released = number;
            Some(waker)
        });
        if let Some(next) = next {
            next.wake();
        }
    }
}

impl Place {
    fn wait(&mut self, context: &Context<'_>) -> Poll<()> {
        ROW.with_borrow_mut(|row| {
            if self.number == 0 {
                row.joined += 1;
                self.number = row.joined;
                row.waiting.push_back((self.number, context.waker().clone()));
                if let Some(turner) = row.turner.take() {
                    turner.wake();
                }
                return Poll::Pending;
            }
            if self.number <= row.released {
                return Poll::Ready(());
            }
            if let Some(at) = row.position(self.number) {
                row.waiting[at].1.clone_from(context.waker());
            }
            Poll::Pending
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        ROW.with_borrow_mut(|row| {
            if self.number > row.released
                && let Some(at) = row.position(self.number)
            {
                row.waiting.remove(at);
            }
        });
    }
}

impl Turner {
    fn begin() -> Self {
        ROW.with_borrow_mut(|row| row.is_turned = true);
        Self
    }
}

impl Drop for Turner {
    fn drop(&mut self) {
        let left = ROW.with_borrow_mut(|row| {
            row.is_turned = false;
            row.turner = None;
            row.released = row.joined;
            std::mem::take(&mut row.waiting)
        });
        for (_, waker) in left {
            waker.wake();
        }
    }
}

impl Row {
    const fn empty() -> Self {
        let waiting = VecDeque::new();
        Self { joined: 0, released: 0, waiting, turner: None, is_turned: false }
    }

    fn position(&self, number: u64) -> Option<usize> {
        self.waiting.binary_search_by_key(&number, |(number, _)| *number).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, pin::pin, rc::Rc};

    use futures_util::FutureExt;
    use tokio::{runtime::Builder, task::LocalSet};

    use super::*;

    fn is_empty() -> bool {
        ROW.with_borrow(|row| row.waiting.is_empty())
    }

    /// Runs work beside the turnstile; nobody waits afterwards.
    fn on_a_worker(work: impl Future<Output = ()>) {
        let runtime = Builder::new_current_thread().build().expect("a runtime");
        LocalSet::new().block_on(&runtime, async {
            let turner = tokio::task::spawn_local(turn());
            yield_now().await;
            work.await;
            assert!(is_empty());
            turner.abort();
        });
    }

    #[test]
    fn a_turn_lets_one_of_many_go_on() {
        const MANY: usize = 40;
        on_a_worker(async {
            let steps = Rc::new(Cell::new(0));
            let busy: Vec<_> = (0..MANY)
                .map(|_| {
                    let steps = Rc::clone(&steps);
                    tokio::task::spawn_local(async move {
                        for _ in 0..5 {
                            give_way().await;
                            steps.set(steps.get() + 1);
                        }
                    })
                })
                .collect();
            let mut before = 0;
            for _ in 0..MANY {
                yield_now().await;
                assert!(steps.get() - before <= 2, "{} went on in one turn", steps.get() - before);
                before = steps.get();
            }
            for task in busy {
                task.await.expect("ended");
            }
            assert_eq!(steps.get(), 5 * MANY);
        });
    }

    #[test]
    fn they_go_on_in_the_order_in_which_they_came() {
        on_a_worker(async {
            let order = Rc::new(RefCell::new(Vec::new()));
            let tasks: Vec<_> = (0..6)
                .map(|number| {
                    let order = Rc::clone(&order);
                    tokio::task::spawn_local(async move {
                        for round in 0..3 {
                            give_way().await;
                            order.borrow_mut().push((round, number));
                        }
                    })
                })
                .collect();
            for task in tasks {
                task.await.expect("ended");
            }
            let order = order.take();
            assert!(order.is_sorted() && order.len() == 18, "{order:?}");
        });
    }

    #[test]
    fn whoever_leaves_or_is_not_polled_holds_up_nobody() {
        on_a_worker(async {
            let mut unpolled = pin!(give_way());
            assert!(unpolled.as_mut().now_or_never().is_none());
            let wait = || tokio::task::spawn_local(give_way());
            let (second, third, last) = (wait(), wait(), wait());
            yield_now().await;
            third.abort();
            second.await.expect("went on");
            last.await.expect("went on");
            unpolled.await;
        });
    }

    #[test]
    fn without_a_turner_nobody_waits() {
        let runtime = Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let left = {
                let mut turner = pin!(turn());
                assert!(turner.as_mut().now_or_never().is_none());
                let mut left = Box::pin(give_way());
                assert!(left.as_mut().now_or_never().is_none());
                left
            };
            left.await;
            give_way().await;
        });
    }
}
