//! Who is told of changes.

use crate::backend::{Event, Subscriber};
use crate::env::sync::RwLock;

/// See the module.
#[derive(Default)]
pub struct Subscribers(RwLock<Vec<Subscriber>>);

impl Subscribers {
    pub fn add(&self, subscriber: Subscriber) {
        self.0.write().push(subscriber);
    }

    /// Whether anybody is told of anything.
    pub fn is_heard(&self) -> bool {
        !self.0.read().is_empty()
    }

    /// Tells them; the caller holds no lock.
    pub fn announce(&self, events: &[Event]) {
        let subscribers = self.0.read().clone();
        for event in events {
            subscribers.iter().for_each(|subscriber| subscriber(event));
        }
    }
}
