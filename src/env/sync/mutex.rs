//! A lock for one.

use std::ops::{Deref, DerefMut};

use super::{Release, address, schedule};

/// See the module.
#[derive(Default)]
pub struct Mutex<T: ?Sized> {
    inner: parking_lot::Mutex<T>,
}

/// Has the lock until it is dropped.
pub struct MutexGuard<'m, T: ?Sized> {
    pub(super) inner: parking_lot::MutexGuard<'m, T>,
    release: Release,
}

impl<T> Mutex<T> {
    /// A free lock.
    pub const fn new(value: T) -> Self {
        Self { inner: parking_lot::Mutex::new(value) }
    }

    /// What it guarded.
    pub fn into_inner(self) -> T {
        self.inner.into_inner()
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits for the lock.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        let address = address(&self.inner);
        schedule::await_lock(address, || !self.inner.is_locked());
        MutexGuard { inner: self.inner.lock(), release: Release(address) }
    }

    /// The lock, if nobody has it.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        schedule::point();
        Some(MutexGuard { inner: self.inner.try_lock()?, release: Release(address(&self.inner)) })
    }

    /// What it guards, of which nobody else knows.
    pub fn get_mut(&mut self) -> &mut T {
        self.inner.get_mut()
    }
}

impl<T: ?Sized> MutexGuard<'_, T> {
    pub(super) fn address(&self) -> usize {
        self.release.0
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

impl<T: ?Sized + std::fmt::Debug> std::fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.inner.fmt(f)
    }
}
