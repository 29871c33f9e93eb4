//! Copies of a simulated machine, to let it go on in several ways.

use super::{Arc, Mutex, SimEnv};

impl SimEnv {
    /// Another machine in the same state.
    #[must_use]
    pub fn copy(&self) -> Self {
        Self { state: Arc::new(Mutex::new(self.state.lock().clone())), life: None }
    }
}
