//! Small files that are kept twice, so that what is damaged in one is mended from the other.
//!
//! Must not know what is in them.

use std::io::ErrorKind as Io;
use std::path::{Path, PathBuf};

use crate::env::{Env, is_unreadable};
use crate::{Error, ErrorKind, Result};

/// What was read, and what is wrong with the two files.
pub struct Loaded<T> {
    pub value: T,
    bytes: Vec<u8>,
    /// Files that are missing, damaged or old, each with a sentence.
    pub problems: Vec<(PathBuf, String)>,
}

/// Where the second one is.
pub fn copy_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".copy");
    name.into()
}

/// Writes both so that a crash leaves, in each, the old or the new contents.
pub fn save(env: &dyn Env, path: &Path, bytes: &[u8]) -> Result<()> {
    let copy = copy_of(path);
    let unsaved = |path: &Path| {
        let what = format!("write {}", path.display());
        move |e: std::io::Error| Error::io(what, &e)
    };
    // Order: the copy first; it is then never older than a first file that is good, and counts for nothing beside it.
    env.replace_file(&copy, bytes).map_err(unsaved(&copy))?;
    env.replace_file(path, bytes).map_err(unsaved(path))
}

/// Reads the first file, or its copy if that is missing or damaged; `None` if there is neither.
pub fn load<T>(env: &dyn Env, path: &Path, parse: &dyn Fn(&[u8]) -> Result<T>) -> Result<Option<Loaded<T>>> {
    let copy = copy_of(path);
    let (first, second) = (read(env, path)?, read(env, &copy)?);
    let (first, odd) = first.map_or_else(|odd| (None, Some(Err(odd))), |first| (first, None));
    let (second, why) = match second {
        Err(odd) if first.is_some() => (None, Some(odd)),
        second => (second?, None),
    };
    let judged = odd.or_else(|| first.as_deref().map(parse));
    let bad = match judged {
        Some(Ok(value)) => {
            let bytes = first.unwrap_or_default();
            let same = second.as_ref() == Some(&bytes);
            let text = match (second, why) {
                (Some(_), _) => "it is damaged or old".to_owned(),
                (None, Some(why)) => why.message,
                (None, None) => "it is missing".to_owned(),
            };
            let problems = if same { Vec::new() } else { vec![(copy, text)] };
            return Ok(Some(Loaded { value, bytes, problems }));
        }
        Some(Err(e)) => Some(e),
        None => None,
    };
    // One that cannot be read now may be whole: nobody makes both anew.
    let Some(bytes) = second else { return why.filter(|e| e.kind == ErrorKind::Io).or(bad).map_or(Ok(None), Err) };
    match (parse(&bytes), bad) {
        (Ok(value), bad) => {
            let text = bad.map_or_else(|| "it is missing".to_owned(), |e| e.message);
            Ok(Some(Loaded { value, bytes, problems: vec![(path.to_owned(), text)] }))
        }
        (Err(_), Some(bad)) => Err(bad),
        (Err(e), None) => Err(e),
    }
}

/// The inner error is of a file that is none of ours, no regular one or far too large, or that the disk does not give.
fn read(env: &dyn Env, path: &Path) -> Result<Result<Option<Vec<u8>>>> {
    let failed = |e: &std::io::Error| Error::io(format!("read {}", path.display()), e);
    let again = |e: std::io::Error| if is_unreadable(&e) { env.read_file(path) } else { Err(e) };
    match env.read_file(path).or_else(again) {
        Ok(bytes) => Ok(Ok(Some(bytes))),
        Err(e) if e.kind() == Io::NotFound => Ok(Ok(None)),
        Err(e) if e.kind() == Io::InvalidData => Ok(Err(Error::new(ErrorKind::Corrupt, failed(&e).message))),
        Err(e) if is_unreadable(&e) => Ok(Err(failed(&e))),
        Err(e) => Err(failed(&e)),
    }
}

/// Writes again what was found to be missing, damaged or old.
pub fn mend<T>(env: &dyn Env, loaded: &Loaded<T>) -> Result<()> {
    for (path, text) in &loaded.problems {
        log::warn!("{}: {text}; it is written again from the other copy", path.display());
        env.replace_file(path, &loaded.bytes).map_err(|e| Error::io(format!("write {}", path.display()), &e))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::SimEnv;

    fn parse(bytes: &[u8]) -> Result<Vec<u8>> {
        if bytes == b"good" || bytes == b"new" {
            Ok(bytes.to_vec())
        } else {
            Err(Error::new(ErrorKind::Corrupt, "bad"))
        }
    }

    #[test]
    fn either_of_the_two_is_enough() {
        let env = SimEnv::new();
        env.create_dir("/d".as_ref()).unwrap();
        let path = Path::new("/d/file");
        assert!(load(&env, path, &parse).unwrap().is_none());
        assert!(save(&env, path, b"good").is_ok());
        assert!(load(&env, path, &parse).unwrap().unwrap().problems.is_empty());
        for broken in [path.to_owned(), copy_of(path)] {
            env.damage(&broken, |bytes| bytes[0] ^= 1).unwrap();
            let loaded = load(&env, path, &parse).unwrap().unwrap();
            assert_eq!((loaded.value.as_slice(), &loaded.problems[0].0), (b"good".as_slice(), &broken));
            mend(&env, &loaded).unwrap();
            env.remove(&broken).unwrap();
            let loaded = load(&env, path, &parse).unwrap().unwrap();
            assert_eq!(loaded.problems[0].0, broken);
            mend(&env, &loaded).unwrap();
            assert!(load(&env, path, &parse).unwrap().unwrap().problems.is_empty());
        }
        for unreadable in [path.to_owned(), copy_of(path)] {
            env.spoil(&unreadable, 0).unwrap();
            let loaded = load(&env, path, &parse).unwrap().unwrap();
            assert_eq!((loaded.value.as_slice(), &loaded.problems[0].0), (b"good".as_slice(), &unreadable));
            let other = if unreadable == path { copy_of(path) } else { path.to_owned() };
            env.damage(&other, |bytes| bytes[0] ^= 1).unwrap();
            assert_eq!(load(&env, path, &parse).err().unwrap().kind, ErrorKind::Io);
            env.damage(&other, |bytes| bytes[0] ^= 1).unwrap();
            mend(&env, &loaded).unwrap();
            assert!(load(&env, path, &parse).unwrap().unwrap().problems.is_empty());
        }
        env.damage(path, |bytes| bytes[0] ^= 1).unwrap();
        env.damage(&copy_of(path), |bytes| bytes[0] ^= 1).unwrap();
        assert_eq!(load(&env, path, &parse).err().unwrap().kind, ErrorKind::Corrupt);
    }
}
