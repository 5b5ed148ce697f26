//! What a server tells whoever has started it and listens: systemd, or a supervisor that listens the same way (SUP-6).
//!
//! Without `NOTIFY_SOCKET` nobody listens, and nothing is told.

use std::time::Duration;

use sd_notify::NotifyState;

use super::report;

/// Tells the states; whoever does not listen misses them.
fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        report::note(&format!("cannot tell the service manager: {error}"));
    }
}

/// The server serves, or what was read anew is served or refused.
pub(super) fn ready() {
    tell(&[NotifyState::Ready]);
}

/// Everything is read anew.
pub(super) fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(error) => report::note(&format!("cannot tell the service manager: {error}")),
    }
}

/// The server is to end.
pub(super) fn stopping() {
    tell(&[NotifyState::Stopping]);
}

/// Says twice as often as whoever listens wants to hear it that the server works, for as long as it does; never ends.
pub(super) async fn keep_alive(works: impl Fn(Duration) -> bool) {
    let Some(most) = sd_notify::watchdog_enabled() else { return std::future::pending().await };
    let mut beats = tokio::time::interval((most / 2).max(Duration::from_millis(1)));
    beats.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        beats.tick().await;
        if works(most) {
            tell(&[NotifyState::Watchdog]);
        }
    }
}
