//! A lock for many readers or one writer.

use std::ops::{Deref, DerefMut};

use super::{Release, address, schedule};

/// See the module.
#[derive(Default)]
pub struct RwLock<T: ?Sized> {
    inner: parking_lot::RwLock<T>,
}

/// Reads until it is dropped.
pub struct ReadGuard<'l, T: ?Sized> {
    inner: parking_lot::RwLockReadGuard<'l, T>,
    _release: Release,
}

/// Writes until it is dropped.
pub struct WriteGuard<'l, T: ?Sized> {
    inner: parking_lot::RwLockWriteGuard<'l, T>,
    _release: Release,
}

impl<T> RwLock<T> {
    /// A free lock.
    pub const fn new(value: T) -> Self {
        Self { inner: parking_lot::RwLock::new(value) }
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits until nobody writes.
    pub fn read(&self) -> ReadGuard<'_, T> {
        let address = address(&self.inner);
        schedule::await_lock(address, || !self.inner.is_locked_exclusive());
        ReadGuard { inner: self.inner.read(), _release: Release(address) }
    }

    /// As [`RwLock::read`], but beside others who read also while somebody waits to write: who has it may take it again.
    pub fn read_recursive(&self) -> ReadGuard<'_, T> {
        let address = address(&self.inner);
        schedule::await_lock(address, || !self.inner.is_locked_exclusive());
        ReadGuard { inner: self.inner.read_recursive(), _release: Release(address) }
    }

    /// Waits until nobody else has it.
    pub fn write(&self) -> WriteGuard<'_, T> {
        let address = address(&self.inner);
        schedule::await_lock(address, || !self.inner.is_locked());
        WriteGuard { inner: self.inner.write(), _release: Release(address) }
    }

    /// What it guards, of which nobody else knows.
    pub fn get_mut(&mut self) -> &mut T {
        self.inner.get_mut()
    }
}

impl<T: ?Sized> Deref for ReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized> Deref for WriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized> DerefMut for WriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

impl<T: ?Sized + std::fmt::Debug> std::fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.inner.fmt(f)
    }
}
