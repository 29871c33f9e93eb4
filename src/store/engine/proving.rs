//! Constraints that are not declared yet, while what is stored is judged by them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwapOption;

use crate::env::sync::{Mutex, MutexGuard};
use crate::model::{ConstraintSchema, FamilyId};
use crate::{Error, ErrorKind, Result};

/// Held by the one who proves; what it is.
#[derive(Default)]
pub struct Proving {
    one: Mutex<()>,
    now: ArcSwapOption<Proof>,
}

/// Constraints that are not declared yet.
pub struct Proof {
    constraints: Vec<(FamilyId, ConstraintSchema)>,
    /// What a writer has put meanwhile that breaks one.
    broken: Mutex<Option<Error>>,
    refuses: AtomicBool,
}

impl Proving {
    /// One at a time.
    pub fn one(&self) -> MutexGuard<'_, ()> {
        self.one.lock()
    }

    /// Writers note from now on what breaks these; the caller holds [`Proving::one`].
    pub fn begin(&self, constraints: Vec<(FamilyId, ConstraintSchema)>) -> Arc<Proof> {
        let (broken, refuses) = (Mutex::new(None), AtomicBool::new(false));
        let proof = Arc::new(Proof { constraints, broken, refuses });
        self.now.store(Some(Arc::clone(&proof)));
        proof
    }

    /// They are declared, or given up.
    pub fn end(&self) {
        self.now.store(None);
    }

    /// What is proved at this moment.
    pub fn now(&self) -> Option<Arc<Proof>> {
        self.now.load_full()
    }
}

impl Proof {
    /// Whether it proves this constraint of a family.
    pub fn has(&self, constraint: &(FamilyId, ConstraintSchema)) -> bool {
        self.constraints.contains(constraint)
    }

    /// From now on writers are refused what breaks them.
    pub fn begin_refusing(&self) {
        self.refuses.store(true, Ordering::Release);
    }

    /// What a writer has put meanwhile that breaks one.
    pub fn take_broken(&self) -> Option<Error> {
        self.broken.lock().take()
    }

    pub fn is_of(&self, family: FamilyId) -> bool {
        self.of(family).next().is_some()
    }

    pub fn of(&self, family: FamilyId) -> impl Iterator<Item = &ConstraintSchema> {
        self.constraints.iter().filter(move |(of, _)| *of == family).map(|(_, constraint)| constraint)
    }

    /// Notes what a put has come to; passes a refusal on once it counts.
    pub fn note(&self, judged: Result<()>) -> Result<()> {
        match judged {
            Err(e) if e.kind == ErrorKind::Refused && !self.refuses.load(Ordering::Acquire) => {
                self.broken.lock().get_or_insert(e);
                Ok(())
            }
            judged => judged,
        }
    }
}
