//! Sentences about names under which nothing can be made, because the tree gives them a meaning of its own.

use super::base::Tree;
use super::names::escape::Level;
use crate::model::ColumnKey;
use crate::{Error, ErrorKind};

/// `q@`, the directory of versions, as the name of something new.
pub fn versions_are_given(tree: &Tree, column: &ColumnKey) -> Error {
    let spelt = |key: &[u8]| {
        let name = tree.spelling.file_name(Level::Qualifier, key, super::names::escape::NAME_MAX);
        String::from_utf8_lossy(&name).into_owned()
    };
    let (stem, whole) = (spelt(&column.qualifier), spelt(&[column.qualifier.as_slice(), b"@"].concat()));
    let text = format!(
        "`{stem}@` lists the versions of `{stem}` and is not made; a cell whose own name ends in `@` is spelt `{whole}`"
    );
    Error::new(ErrorKind::NotPermitted, text)
}
