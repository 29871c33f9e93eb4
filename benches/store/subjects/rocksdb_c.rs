//! RocksDB's C API, as much of it as is needed, from the shared library of the system.
//!
//! Building RocksDB takes longer than all of the benchmark; a machine that has the library measures it as well.

#![allow(unsafe_code, reason = "a library in C++, loaded while the benchmark runs")]

use std::ffi::{CStr, CString, c_char, c_double, c_int, c_uchar, c_void};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{null, null_mut};
use std::sync::LazyLock;

use libloading::Library;

const LIBRARY: &str = "librocksdb.so.7.8";
const BLOCK_CACHE_BYTES: usize = 32 << 20;
const FILTER_BITS_A_KEY: c_double = 10.0;

/// One of RocksDB's objects; what it is stands in the name of the function.
type Object = *mut c_void;
type Text = *const c_char;
/// Where a function puts what went wrong.
type Failure = *mut *mut c_char;

macro_rules! functions {
    ($($name:ident($($arg:ty),*) $(-> $answer:ty)?;)*) => {
        struct Functions {
            $($name: unsafe extern "C" fn($($arg),*) $(-> $answer)?,)*
        }

        impl Functions {
            fn load() -> Result<Self, libloading::Error> {
                // SAFETY: what the library does when it is loaded sets up nothing but itself. It stays to the end.
                let library = Box::leak(Box::new(unsafe { Library::new(LIBRARY) }?));
                Ok(Self {
                    $($name: {
                        // SAFETY: the types are those of rocksdb/c.h of the version that the library's name has.
                        *unsafe { library.get(concat!("rocksdb_", stringify!($name))) }?
                    },)*
                })
            }
        }
    };
}

functions! {
    options_create() -> Object;
    options_destroy(Object);
    options_set_create_if_missing(Object, c_uchar);
    options_set_block_based_table_factory(Object, Object);
    block_based_options_create() -> Object;
    block_based_options_destroy(Object);
    block_based_options_set_block_cache(Object, Object);
    block_based_options_set_filter_policy(Object, Object);
    cache_create_lru(usize) -> Object;
    cache_destroy(Object);
    filterpolicy_create_bloom(c_double) -> Object;
    open(Object, Text, Failure) -> Object;
    close(Object);
    free(*mut c_void);
    writeoptions_create() -> Object;
    writeoptions_set_sync(Object, c_uchar);
    writeoptions_destroy(Object);
    readoptions_create() -> Object;
    readoptions_destroy(Object);
    put(Object, Object, Text, usize, Text, usize, Failure);
    get_pinned(Object, Object, Text, usize, Failure) -> Object;
    pinnableslice_value(Object, *mut usize) -> Text;
    pinnableslice_destroy(Object);
    create_iterator(Object, Object) -> Object;
    iter_seek(Object, Text, usize);
    iter_valid(Object) -> c_uchar;
    iter_next(Object);
    iter_key(Object, *mut usize) -> Text;
    iter_value(Object, *mut usize) -> Text;
    iter_get_error(Object, Failure);
    iter_destroy(Object);
    flushoptions_create() -> Object;
    flushoptions_set_wait(Object, c_uchar);
    flushoptions_destroy(Object);
    flush(Object, Object, Failure);
    property_int(Object, Text, *mut u64) -> c_int;
    compact_range(Object, Text, usize, Text, usize);
    checkpoint_object_create(Object, Failure) -> Object;
    checkpoint_create(Object, Text, u64, Failure);
    checkpoint_object_destroy(Object);
}

static FUNCTIONS: LazyLock<Option<Functions>> = LazyLock::new(|| Functions::load().ok());

/// Whether the library was found, and has all that is needed.
pub fn is_there() -> bool {
    FUNCTIONS.is_some()
}

/// Calls a function that answers whether it failed by its last argument, and panics if it did.
fn checked<T>(rocksdb: &Functions, call: impl FnOnce(Failure) -> T) -> T {
    let mut failure: *mut c_char = null_mut();
    let answer = call(&raw mut failure);
    if !failure.is_null() {
        // SAFETY: what is put there is a text that ends with a zero, and the caller's to free.
        let text = unsafe { CStr::from_ptr(failure) }.to_string_lossy().into_owned();
        // SAFETY: as above; nobody has it any more.
        unsafe { (rocksdb.free)(failure.cast()) };
        panic!("RocksDB: {text}");
    }
    answer
}

fn path(dir: &Path) -> CString {
    CString::new(dir.as_os_str().as_bytes()).expect("a path without zeros")
}

/// An open database.
pub struct Database {
    rocksdb: &'static Functions,
    database: Object,
    /// Of puts that do not wait for the disk, and of those that do.
    unsynced: Object,
    synced: Object,
    reading: Object,
}

// SAFETY: a database and options that nobody changes may be used by many threads at once (rocksdb/db.h).
unsafe impl Send for Database {}
// SAFETY: as above.
unsafe impl Sync for Database {}

/// Options of a database.
fn options(rocksdb: &Functions) -> Object {
    // SAFETY: each object is one that its own `create` has made; the table's options take the filter over and share the
    // cache, and the options copy those of the table, so that both may be freed here.
    unsafe {
        let options = (rocksdb.options_create)();
        (rocksdb.options_set_create_if_missing)(options, 1);
        let tables = (rocksdb.block_based_options_create)();
        let cache = (rocksdb.cache_create_lru)(BLOCK_CACHE_BYTES);
        (rocksdb.block_based_options_set_block_cache)(tables, cache);
        let filter = (rocksdb.filterpolicy_create_bloom)(FILTER_BITS_A_KEY);
        (rocksdb.block_based_options_set_filter_policy)(tables, filter);
        (rocksdb.options_set_block_based_table_factory)(options, tables);
        (rocksdb.cache_destroy)(cache);
        (rocksdb.block_based_options_destroy)(tables);
        options
    }
}

impl Database {
    /// Opens a database, which is made if it is not there.
    pub fn open(dir: &Path) -> Self {
        let rocksdb = FUNCTIONS.as_ref().expect("RocksDB's library");
        let (options, path) = (options(rocksdb), path(dir));
        // SAFETY: the options are whole and the path ends with a zero; the database keeps copies of both. The other
        // options are made by their own `create`, and live as long as the database.
        unsafe {
            let database = checked(rocksdb, |failure| (rocksdb.open)(options, path.as_ptr(), failure));
            (rocksdb.options_destroy)(options);
            let (unsynced, synced) = ((rocksdb.writeoptions_create)(), (rocksdb.writeoptions_create)());
            (rocksdb.writeoptions_set_sync)(synced, 1);
            Self { rocksdb, database, unsynced, synced, reading: (rocksdb.readoptions_create)() }
        }
    }

    /// Writes to the log, without a wait for the disk.
    pub fn put(&self, key: &[u8], value: &[u8]) {
        self.put_by(self.unsynced, key, value);
    }

    /// On the disk when this returns.
    pub fn put_synced(&self, key: &[u8], value: &[u8]) {
        self.put_by(self.synced, key, value);
    }

    fn put_by(&self, options: Object, key: &[u8], value: &[u8]) {
        let (k, v) = (key.as_ptr().cast(), value.as_ptr().cast());
        // SAFETY: the objects are open, and both slices live until the call is over, which copies them.
        checked(self.rocksdb, |failure| unsafe {
            (self.rocksdb.put)(self.database, options, k, key.len(), v, value.len(), failure);
        });
    }

    /// Length of the value of a key.
    pub fn len_of(&self, key: &[u8]) -> Option<usize> {
        // SAFETY: the objects are open, and the key lives until the call is over.
        let slice = checked(self.rocksdb, |failure| unsafe {
            (self.rocksdb.get_pinned)(self.database, self.reading, key.as_ptr().cast(), key.len(), failure)
        });
        if slice.is_null() {
            return None;
        }
        let mut len = 0;
        // SAFETY: the slice is the one that was just got, and is not used again.
        unsafe {
            (self.rocksdb.pinnableslice_value)(slice, &raw mut len);
            (self.rocksdb.pinnableslice_destroy)(slice);
        }
        Some(len)
    }

    /// Keys and values from a key on, in order, until `take` has enough.
    pub fn walk(&self, from: &[u8], mut take: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>) {
        let rocksdb = self.rocksdb;
        let (mut key_len, mut value_len) = (0, 0);
        // SAFETY: the iterator is used by this thread alone and freed once. What it lends lives until it moves, and is
        // let go before.
        unsafe {
            let iterator = (rocksdb.create_iterator)(self.database, self.reading);
            (rocksdb.iter_seek)(iterator, from.as_ptr().cast(), from.len());
            while (rocksdb.iter_valid)(iterator) != 0 {
                let key = (rocksdb.iter_key)(iterator, &raw mut key_len).cast();
                let value = (rocksdb.iter_value)(iterator, &raw mut value_len).cast();
                let [key, value] =
                    [(key, key_len), (value, value_len)].map(|(at, len)| std::slice::from_raw_parts(at, len));
                if take(key, value).is_break() {
                    break;
                }
                (rocksdb.iter_next)(iterator);
            }
            checked(rocksdb, |failure| (rocksdb.iter_get_error)(iterator, failure));
            (rocksdb.iter_destroy)(iterator);
        }
    }

    /// Moves what is in memory to files, and waits for it.
    pub fn flush(&self) {
        let rocksdb = self.rocksdb;
        // SAFETY: the options are made, used and freed here.
        unsafe {
            let options = (rocksdb.flushoptions_create)();
            (rocksdb.flushoptions_set_wait)(options, 1);
            checked(rocksdb, |failure| (rocksdb.flush)(self.database, options, failure));
            (rocksdb.flushoptions_destroy)(options);
        }
    }

    /// A number that the database tells of itself.
    pub fn property(&self, name: &CStr) -> Option<u64> {
        let mut number = 0;
        // SAFETY: the name ends with a zero, and the number lives until the call is over.
        let failed = unsafe { (self.rocksdb.property_int)(self.database, name.as_ptr(), &raw mut number) };
        (failed == 0).then_some(number)
    }

    /// Compacts everything.
    pub fn compact(&self) {
        // SAFETY: no key at either end stands for all keys.
        unsafe { (self.rocksdb.compact_range)(self.database, null(), 0, null(), 0) };
    }

    /// Another database in a directory that is not there yet, which has what this one has now.
    pub fn checkpoint(&self, dir: &Path) {
        let (rocksdb, path) = (self.rocksdb, path(dir));
        // SAFETY: the checkpoint is made, used and freed here; the path ends with a zero.
        unsafe {
            let checkpoint = checked(rocksdb, |failure| (rocksdb.checkpoint_object_create)(self.database, failure));
            checked(rocksdb, |failure| (rocksdb.checkpoint_create)(checkpoint, path.as_ptr(), 0, failure));
            (rocksdb.checkpoint_object_destroy)(checkpoint);
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let rocksdb = self.rocksdb;
        // SAFETY: nobody else has any of these any more, and each is freed once.
        unsafe {
            (rocksdb.close)(self.database);
            (rocksdb.writeoptions_destroy)(self.unsynced);
            (rocksdb.writeoptions_destroy)(self.synced);
            (rocksdb.readoptions_destroy)(self.reading);
        }
    }
}
