//! What pages are told that somebody develops an app with: that it was read anew, and what has changed (WSK-16).
//!
//! In: the events of the server. Out: the newest of them that is about a reload, to whoever waits for the next one. A
//! page that was slow hears of the last one only, which is the one that counts.

use std::sync::Arc;

use qlio_data::{Object, Value};
use tokio::sync::watch;

use crate::http::server::Event;

/// What a client names to be told.
pub(super) const EVENT: &str = "app-reloaded";

/// How the newest reload has ended.
#[derive(Debug)]
struct News {
    message: String,
    is_refused: bool,
}

/// Tells of reloads.
#[derive(Debug, Clone)]
pub struct ReloadTeller(watch::Sender<Option<Arc<News>>>);

/// Hears of reloads.
#[derive(Debug, Clone)]
pub struct ReloadNews(watch::Receiver<Option<Arc<News>>>);

impl Default for ReloadTeller {
    fn default() -> Self {
        Self(watch::Sender::new(None))
    }
}

impl ReloadTeller {
    /// Tells an event of the server, if it is about a reload.
    pub fn take(&self, event: &Event) {
        let (message, is_refused) = match event {
            Event::Reloaded { message } => (message.clone(), false),
            Event::ReloadRefused { message } => (message.clone(), true),
            _ => return,
        };
        self.0.send_replace(Some(Arc::new(News { message, is_refused })));
    }

    /// For somebody who hears of reloads from here on.
    pub fn news(&self) -> ReloadNews {
        ReloadNews(self.0.subscribe())
    }
}

impl ReloadNews {
    /// The same from here on, whatever has been told before.
    pub(super) fn later(&self) -> Self {
        let mut news = self.0.clone();
        news.mark_unchanged();
        Self(news)
    }

    /// Waits for the next reload; for ever where there are none.
    pub(super) async fn next(&mut self) -> Value {
        loop {
            if self.0.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
            if let Some(news) = &*self.0.borrow_and_update() {
                let members = [
                    ("message", Value::from(news.message.as_str())),
                    ("refused", Value::Bool(news.is_refused)),
                ];
                return Value::object(members.into_iter().collect::<Object>());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_newest_reload_is_told_and_nothing_else() {
        let teller = ReloadTeller::default();
        let message = |text: &str| text.to_owned();
        teller.take(&Event::Reloaded { message: message("before") });
        let mut news = teller.news().later();
        teller.take(&Event::Noted { message: message("something") });
        teller.take(&Event::Reloaded { message: message("one") });
        teller.take(&Event::ReloadRefused { message: message("two") });
        let told = news.next().await;
        assert_eq!(told.member("message").as_str(), Some("two"));
        assert_eq!(told.member("refused"), Value::Bool(true));
        let silence = tokio::time::timeout(std::time::Duration::from_millis(20), news.next());
        assert!(silence.await.is_err());
    }
}
