//! One fetch for all who miss at the same time, whatever becomes of the one who fetches.

use std::{
    future::pending,
    sync::{
        Arc, Barrier,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use qlio_engine::cache::{Backend, Cache, CacheSettings, Source};
use qlio_testkit::program::{CacheServer, Running};
use tokio::sync::Notify;

use crate::support::{MINUTE, PATIENCE, Watched, entry, key, memcached, patient};

fn memory() -> Watched {
    Watched::new(CacheSettings::new(Backend::Memory))
}

/// Runs `task` on threads with a runtime each, all at once.
fn on_threads<F>(count: usize, task: &F)
where
    F: AsyncFn(usize) + Clone + Send + 'static,
{
    let barrier = Arc::new(Barrier::new(count));
    let threads: Vec<_> = (0..count)
        .map(|number| {
            let (barrier, task) = (Arc::clone(&barrier), task.clone());
            thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                barrier.wait();
                runtime.expect("a runtime").block_on(async {
                    tokio::time::timeout(PATIENCE, task(number)).await.expect("no hang");
                });
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("no panic");
    }
}

#[test]
fn threads_share_one_fetch_per_key() {
    let watched = memory();
    let fetches = Arc::new(AtomicUsize::new(0));
    let (cache, counter) = (Arc::clone(&watched.cache), Arc::clone(&fetches));
    on_threads(8, &async move |_| {
        let client = cache.client();
        for round in 0..100 {
            let fetch = async || {
                counter.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
                Ok::<_, ()>(entry(format!("{round}")))
            };
            let key = key(&round.to_string());
            let found = client.get_or_fetch(&key, MINUTE, fetch).await.expect("an entry");
            assert_eq!(found.entry, entry(format!("{round}")));
        }
    });
    assert_eq!(fetches.load(Ordering::Relaxed), 100);
}

#[tokio::test]
async fn tasks_of_one_thread_share_one_fetch() {
    let watched = memory();
    let client = watched.cache.client();
    let fetches = AtomicUsize::new(0);
    let go = Notify::new();
    let asks = (0..50).map(|_| client.get_or_fetch_one(&fetches, &go));
    let release = async { go.notify_one() };
    let (found, ()) = tokio::join!(join_all(asks), release);
    assert_eq!(fetches.load(Ordering::Relaxed), 1);
    let joined = found.iter().filter(|source| **source == Source::Joined).count();
    assert_eq!(joined, 49);
}

trait Asks {
    async fn get_or_fetch_one(&self, fetches: &AtomicUsize, go: &Notify) -> Source;
}

impl Asks for qlio_engine::cache::CacheClient {
    async fn get_or_fetch_one(&self, fetches: &AtomicUsize, go: &Notify) -> Source {
        let fetch = async || {
            fetches.fetch_add(1, Ordering::Relaxed);
            go.notified().await;
            Ok::<_, ()>(entry("{}"))
        };
        self.get_or_fetch(&key("k"), MINUTE, fetch).await.expect("an entry").source
    }
}

#[tokio::test]
async fn a_dropped_fetch_is_taken_over() {
    let watched = memory();
    let client = watched.cache.client();
    let (first, second) = (key("k"), key("k"));
    let mut leader = Box::pin(client.get_or_fetch(&first, MINUTE, async || {
        pending::<()>().await;
        Err::<_, ()>(())
    }));
    let follower = client.get_or_fetch(&second, MINUTE, async || Ok::<_, ()>(entry("{}")));
    tokio::select! {
        biased;
        _ = &mut leader => panic!("it never ends"),
        () = tokio::task::yield_now() => {}
    }
    let (found, ()) = tokio::join!(follower, async { drop(leader) });
    assert_eq!(found.expect("an entry").source, Source::Fetched);
}

#[tokio::test]
async fn after_two_failures_nobody_waits_for_the_others() {
    let watched = memory();
    let client = watched.cache.client();
    let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let everybody = Notify::new();
    let key = key("k");
    let asks = (0..20).map(|number| {
        let (client, key, running, most, everybody) = (&client, &key, &running, &most, &everybody);
        async move {
            let fetch = async || {
                let now = running.fetch_add(1, Ordering::Relaxed) + 1;
                most.fetch_max(now, Ordering::Relaxed);
                if number >= 2 {
                    // These must be under way together, or this never ends.
                    if now == 18 {
                        everybody.notify_waiters();
                    } else {
                        everybody.notified().await;
                    }
                } else {
                    tokio::task::yield_now().await;
                    running.fetch_sub(1, Ordering::Relaxed);
                }
                Err::<_, usize>(number)
            };
            client.get_or_fetch(key, MINUTE, fetch).await
        }
    });
    let found = tokio::time::timeout(PATIENCE, join_all(asks)).await.expect("no hang");
    assert!(found.iter().enumerate().all(|(number, result)| *result == Err(number)));
    assert_eq!(most.load(Ordering::Relaxed), 18);
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_longer_than_the_bound() {
    let wait = Duration::from_secs(3);
    let settings = CacheSettings { shared_wait: wait, ..CacheSettings::new(Backend::Memory) };
    let watched = Watched::new(settings);
    let client = watched.cache.client();
    let (first, second) = (key("k"), key("k"));
    let leader = client.get_or_fetch(&first, MINUTE, async || {
        tokio::time::sleep(Duration::from_secs(100)).await;
        Ok::<_, ()>(entry("slow"))
    });
    let follower = async {
        let before = tokio::time::Instant::now();
        let fetch = async || Ok::<_, ()>(entry("own"));
        let found = client.get_or_fetch(&second, MINUTE, fetch).await.expect("fetched");
        (found.entry, before.elapsed())
    };
    let (slow, (own, waited)) = tokio::join!(leader, follower);
    assert_eq!((slow.expect("fetched").entry, own), (entry("slow"), entry("own")));
    assert_eq!(waited, wait);
}

#[tokio::test]
async fn an_entry_serves_others_while_it_is_being_stored() {
    let Some(server) = Running::start(CacheServer::Memcached) else { return };
    let watched = Watched::new(patient(memcached(&server.address())));
    let client = watched.cache.client();
    let fetch = async || Ok::<_, ()>(entry("{}"));
    client.get_or_fetch(&key("k"), MINUTE, fetch).await.expect("fetched");
    // The store has not had a chance to run yet.
    let never = async || Err::<_, &str>("fetched again");
    let found = client.get_or_fetch(&key("k"), MINUTE, never).await.expect("a hit");
    assert_eq!(found.source, Source::Joined);
    watched.hears("cacheNew").await;
    assert_eq!(client.get(&key("k")).await.expect("stored").source, Source::Server);
}

/// What a caller of the stress test does with its fetch.
#[derive(Clone, Copy)]
enum Fate {
    Succeeds,
    Fails,
    IsDropped,
    IsDroppedWhileWaiting,
}

impl Fate {
    /// From a small generator with a fixed seed per caller.
    fn next(state: &mut u64) -> Self {
        *state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        match *state >> 62 {
            0 => Self::Succeeds,
            1 => Self::Fails,
            2 => Self::IsDropped,
            _ => Self::IsDroppedWhileWaiting,
        }
    }
}

async fn meets(cache: &Arc<Cache>, fate: Fate, round: usize) {
    let client = cache.client();
    let key = key(&round.to_string());
    let fetch = async || {
        for _ in 0..round % 4 {
            tokio::task::yield_now().await;
        }
        match fate {
            Fate::Succeeds => Ok(entry(format!("{round}"))),
            Fate::Fails => Err(()),
            Fate::IsDropped | Fate::IsDroppedWhileWaiting => pending().await,
        }
    };
    let ask = client.get_or_fetch(&key, MINUTE, fetch);
    let yields = match fate {
        Fate::Succeeds | Fate::Fails => None,
        Fate::IsDropped => Some(20),
        Fate::IsDroppedWhileWaiting => Some(1),
    };
    let given_up = async {
        match yields {
            None => pending().await,
            Some(count) => {
                for _ in 0..count {
                    tokio::task::yield_now().await;
                }
            }
        }
    };
    tokio::select! {
        biased;
        found = ask => match found {
            Ok(found) => assert_eq!(found.entry, entry(format!("{round}"))),
            Err(()) => assert!(matches!(fate, Fate::Fails)),
        },
        () = given_up => {}
    }
}

#[test]
fn whatever_fails_or_is_dropped_everybody_else_gets_on() {
    let watched = memory();
    let cache = Arc::clone(&watched.cache);
    let before = Instant::now();
    on_threads(8, &async move |number| {
        let mut state = number as u64 + 1;
        for round in 0..300 {
            let callers = (0..4).map(|_| Fate::next(&mut state)).collect::<Vec<_>>();
            join_all(callers.into_iter().map(|fate| meets(&cache, fate, round))).await;
        }
    });
    // Far below the bound of waiting: nobody was forgotten and came on by the bound alone.
    assert!(before.elapsed() < PATIENCE);
    assert!(!watched.told().iter().any(|message| message.contains("took too long")));
}
