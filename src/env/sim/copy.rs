//! Copies of a simulated machine, to let it go on in several ways.

use super::{Arc, Mutex, Path, SimEnv, io};

pub(super) fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            std::fs::create_dir(&to)?;
            copy_tree(&entry.path(), &to)?;
        } else {
            std::fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

impl SimEnv {
    /// Another machine in the same state. Nothing may be using the index.
    pub fn copy(&self) -> io::Result<Self> {
        let index = self.index.lock();
        let copied = match &*index {
            Some(dir) => {
                let to = tempfile::tempdir_in(&*self.base)?;
                copy_tree(dir.path(), to.path())?;
                Some(to)
            }
            None => None,
        };
        let state = self.state.lock().clone();
        Ok(Self {
            state: Arc::new(Mutex::new(state)),
            index: Arc::new(Mutex::new(copied)),
            base: Arc::clone(&self.base),
            life: None,
        })
    }
}
