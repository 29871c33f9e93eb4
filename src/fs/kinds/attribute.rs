//! Setting attributes, which are files of the schema.

use crate::fs::base::Fs;
use crate::fs::bytes::held_text::HeldText;
use crate::fs::counts::subject;
use crate::fs::handles::table::TextHandle;
use crate::fs::kinds::judge::{lacking, line, said_of};
use crate::fs::requests::refused;
use crate::model::{CatalogueChange, FileTime, Origin};
use crate::tree::place::{NodeKey, Place, SchemaPlace};
use crate::tree::schema::texts as schema;
use crate::tree::view::View;
use crate::{Error, ErrorKind, Result};

/// Sets (`Some`) or unsets an attribute; the store refuses what HBase refuses.
pub fn set_attribute(fs: &Fs, place: &SchemaPlace, bytes: Option<&[u8]>, origin: Origin) -> Result<()> {
    let value = match bytes {
        None => None,
        Some(bytes) => {
            let text = std::str::from_utf8(bytes);
            let text = text.map_err(|_| Error::new(ErrorKind::IllegalArgument, "an attribute's value is text"))?;
            Some(text.trim_end_matches('\n').to_owned())
        }
    };
    fs.removals.show(place);
    let catalogue = fs.tree.backend.catalogue()?;
    let has_all = fs.tree.backend.obeys_all_attributes();
    let said = value.as_deref().filter(|_| !has_all).and_then(|value| said_of(&catalogue, place, value));
    let said = said.or(lacking(&catalogue, place, value.as_deref()));
    fs.tree.backend.alter_from(origin, &|catalogue| schema::set(catalogue, place, value.clone()))?;
    if let Some(sentence) = said {
        log::warn!("{sentence}");
        refused::record_sentence(fs, subject::caller(), "set", &sentence);
    }
    Ok(())
}

/// Sets the mtime of an attribute, if one is to be set.
pub fn set_attribute_time(fs: &Fs, place: &SchemaPlace, time: Option<FileTime>, origin: Origin) -> Result<()> {
    let key = schema::attribute_key(fs.tree.backend.catalogue()?.as_ref(), place);
    match key.zip(time) {
        Some((key, time)) => fs.tree.backend.alter(CatalogueChange::SetAttributeTime { key, time }, origin),
        None => Ok(()),
    }
}

/// Declares what a whole line asks of a check when it is written, which needs a look at all that is stored: what
/// breaks it is refused where shells look. A close declares it again, with an mtime that was set, and finds it so.
pub fn declare_check(fs: &Fs, text: &TextHandle) -> Result<()> {
    let key = text.node.key();
    let Some(place) = declares_check(&key) else { return Ok(()) };
    let is_line = |bytes: &&HeldText| line(bytes).is_some();
    let written = text.written.lock().as_ref().filter(is_line).map(|bytes| bytes.to_vec());
    written.map_or(Ok(()), |bytes| set_attribute(fs, place, Some(&bytes), Origin(text.node.ino)))
}

/// The attribute of a check that a file is, where what is written counts at once.
pub fn declares_check(key: &NodeKey) -> Option<&SchemaPlace> {
    let Place::Schema(place) = &key.place else { return None };
    let is_one = key.view == View::Plain && matches!(place.as_ref(), SchemaPlace::ConstraintAttribute { .. });
    is_one.then_some(place)
}
