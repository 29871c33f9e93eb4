//! The store of a session, which others may have while the session waits for its user.

use std::sync::Arc;

use crate::Result;
use crate::backend::Backend;
use crate::env::sync::Mutex;

/// Opens the store.
type Open = dyn Fn() -> Result<Arc<dyn Backend>> + Send + Sync;

/// See the module. Clones share the store.
#[derive(Clone)]
pub struct Lease {
    current: Arc<Mutex<Option<Arc<dyn Backend>>>>,
    /// How it is opened again; `None`: it is not given away.
    open: Option<Arc<Open>>,
}

impl Lease {
    /// A store that is opened when it is needed. `open` is called once at first, so that its refusal is told at once.
    pub fn new(open: impl Fn() -> Result<Arc<dyn Backend>> + Send + Sync + 'static) -> Result<Self> {
        let current = Arc::new(Mutex::new(Some(open()?)));
        Ok(Self { current, open: Some(Arc::new(open)) })
    }

    /// A store that is kept.
    pub fn kept(backend: Arc<dyn Backend>) -> Self {
        Self { current: Arc::new(Mutex::new(Some(backend))), open: None }
    }

    /// The store, opened if it was given away.
    pub fn get(&self) -> Result<Arc<dyn Backend>> {
        let mut current = self.current.lock();
        match (&*current, &self.open) {
            (Some(backend), _) => Ok(Arc::clone(backend)),
            (None, Some(open)) => Ok(Arc::clone(current.insert(open()?))),
            (None, None) => Err(crate::Error::new(crate::ErrorKind::Io, "the session has no store")),
        }
    }

    /// Lets others have the store until it is needed again.
    pub fn give_way(&self) {
        if self.open.is_some() {
            let given = self.current.lock().take();
            drop(given);
        }
    }

    /// Uses the store, and gives it away again if it was.
    pub fn borrow<T>(&self, with: impl FnOnce(&dyn Backend) -> T) -> Result<T> {
        let was_open = self.current.lock().is_some();
        let done = with(&*self.get()?);
        if !was_open {
            self.give_way();
        }
        Ok(done)
    }
}
