//! Creating files: cells, and generated ones that are set by what is written.

use std::sync::Arc;
use std::time::Duration;

use crate::fs::base::{Fs, not_permitted};
use crate::fs::bytes::content::Content;
use crate::fs::caller::Creator;
use crate::fs::counts::subject;
use crate::fs::handles::table::{FileHandle, Handle, OpenFlags, Opened};
use crate::fs::kinds::text;
use crate::fs::ops::files::{close, open};
use crate::fs::requests::{refused, writable};
use crate::fs::session::{commit, told};
use crate::fs::shown::attr::{Attr, EntryReply};
use crate::fs::shown::{access, attr, entry, known, touch};
use crate::fs::views::{copied, dated};
use crate::tree::found::Facts;
use crate::tree::place::{NodeKey, Place, SchemaPlace};
use crate::tree::view::View;
use crate::tree::{resolve, ungiven};
use crate::{Error, ErrorKind, Result};

/// Creates a file, or opens the one that is there.
pub fn create(fs: &Fs, parent: u64, name: &[u8], creator: Creator, flags: OpenFlags) -> Result<(EntryReply, Opened)> {
    let dir = fs.node(parent)?.key();
    subject::is_named(name);
    writable::check_writable(fs, &dir)?;
    let key = resolve::target(&*known::tree_of(fs, &dir)?, &dir, name)?;
    writable::check_writable(fs, &key)?;
    if !key.place.is_value() {
        return create_text(fs, &key, creator, flags);
    }
    let family_ttl = writable::check_family(fs, &key)?;
    if let Some(entry) = entry::known(fs, &key)? {
        if flags.exclusive {
            fs.forget(entry.attr.ino, 1);
            return Err(Error::new(ErrorKind::AlreadyExists, "it exists"));
        }
        let mut opened = open::open(fs, entry.attr.ino, flags).inspect_err(|_| fs.forget(entry.attr.ino, 1))?;
        // The kernel takes no notice before this is answered.
        opened.keep_cache &= !fs.invalidations.are_pending();
        return Ok((entry, opened));
    }
    if let Some(sentence) = dated::check_dated(fs, &dir, &key, name)? {
        refused::record_sentence(fs, creator.caller, "create", &sentence);
    }
    access::check_sticky(fs, &key, creator.caller.uid)?;
    if !matches!(key.place, Place::Scratch(_)) {
        fs.tree.backend.check_room()?;
    }
    // Who has a file open that had this name, and has expired, goes on with that.
    if let Some(node) = fs.nodes.find(&key).filter(|node| node.opens() > 0) {
        told::current(fs, &node, &mut node.state())?;
    }
    let node = fs.nodes.look_up(&key);
    let file = open::new_file(&node);
    // Order: where no more files can be open nothing is made.
    let handle = fs.handles.add(Handle::File(Arc::clone(&file))).inspect_err(|_| fs.forget(node.ino, 1))?;
    touch::touch_directory(fs, parent);
    fs.absent.remove(parent, name);
    begin(fs, &key, &file, creator, flags).inspect_err(|_| {
        drop(close::release(fs, handle));
        fs.forget(node.ino, 1);
    })?;
    let state = node.state();
    let attr = attr::attr_of(fs, &node, &key, &state, None);
    let attr = Attr { mtime: state.tell(attr.mtime, || fs.tree.backend.now()), ..attr };
    drop(state);
    entry::trim_nodes(fs);
    let is_cell = key.view == View::Plain && matches!(key.place, Place::Cell(_));
    let cached = if is_cell { fs.options.cache_time } else { Duration::ZERO };
    let entry_ttl = family_ttl.map_or(cached, |ttl| ttl.min(cached));
    let entry = EntryReply { attr, entry_ttl, attr_ttl: Duration::ZERO };
    Ok((entry, Opened { handle, keep_cache: true, no_flush: false, direct: false }))
}

/// The file is there, empty, and has that of its creator.
fn begin(fs: &Fs, key: &NodeKey, file: &FileHandle, creator: Creator, flags: OpenFlags) -> Result<()> {
    let mut state = file.node.state();
    (state.unlinked, state.refused, state.cell) = (false, None, None);
    // Who appends to a file that was not there keeps what another makes of it meanwhile.
    open::empty(fs, &mut state, file, flags.append.then_some(0));
    if let Some(session) = &mut state.session {
        session.file = access::by_creator(fs, key, creator);
    }
    match &key.place {
        Place::Cell(column) => fs.tree.uncommitted.add_cell(column),
        Place::Scratch(place) => {
            fs.scratch.write(place, &Content::empty(), &commit::scratch_meta(fs, state.session.as_deref()))?;
        }
        _ => {}
    }
    Ok(())
}

fn create_text(fs: &Fs, key: &NodeKey, creator: Creator, flags: OpenFlags) -> Result<(EntryReply, Opened)> {
    match &key.place {
        place if text::is_writable(place) => {}
        Place::Schema(place) => return Err(not_permitted(made_with_mkdir(place))),
        Place::Versions(column) => return Err(ungiven::versions_are_given(&fs.tree, column)),
        _ => return Err(not_permitted("cells live in families: this level has only directories")),
    }
    writable::check_row_table(fs, key)?;
    if let Some(entry) = entry::known(fs, key)? {
        let opened = open_text(fs, key, entry.attr.ino, flags).inspect_err(|_| fs.forget(entry.attr.ino, 1))?;
        return Ok((entry, opened));
    }
    if let Place::Schema(place) = &key.place {
        fs.texts.set(place, Vec::new())?;
    }
    let entry = entry::entry(fs, key, Some(Facts::text(Vec::new(), fs.now())));
    let node = fs.node(entry.attr.ino)?;
    node.state().created_text = true;
    let file = access::by_creator(fs, key, creator);
    let opened = text::add_text(fs, Arc::clone(&node), Vec::new(), flags, Some(file)).inspect_err(|_| {
        node.state().created_text = false;
        fs.forget(entry.attr.ino, 1);
    });
    if let Place::Schema(place) = &key.place {
        if opened.is_err() {
            fs.texts.remove(place);
        } else {
            tell_of_scratch(fs, place);
        }
    }
    Ok((entry, opened?))
}

/// Opens a generated file that is there.
fn open_text(fs: &Fs, key: &NodeKey, ino: u64, flags: OpenFlags) -> Result<Opened> {
    if copied::is_made_by_copy(fs, key)? {
        return open::open(fs, ino, OpenFlags { truncate: true, ..flags });
    }
    if flags.exclusive {
        return Err(Error::new(ErrorKind::AlreadyExists, "it exists"));
    }
    open::open(fs, ino, flags)
}

/// Whoever mistypes an attribute's name makes a scratch file: it is said. Programs' own begin with a dot or have one.
fn tell_of_scratch(fs: &Fs, place: &SchemaPlace) {
    let SchemaPlace::Scratch { name, .. } = place else { return };
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return;
    }
    let text = format!(
        "`{name}` is the name of no attribute: it is kept here until the unmount and sets nothing; \
         .info/describe of the table lists attributes"
    );
    refused::record_sentence(fs, subject::caller(), "create", &text);
}

/// mknod(2): only regular files, as `create` makes them.
pub fn mknod(fs: &Fs, parent: u64, name: &[u8], creator: Creator) -> Result<EntryReply> {
    if creator.mode & libc::S_IFMT != libc::S_IFREG {
        fs.node(parent)?;
        subject::is_named(name);
        return Err(not_permitted("a cell is a regular file; nothing else can be made"));
    }
    let flags = OpenFlags { write: true, exclusive: true, ..OpenFlags::default() };
    let (entry, opened) = create(fs, parent, name, creator, flags)?;
    close::release(fs, opened.handle)?;
    Ok(entry)
}

/// What is to be made as a directory.
fn made_with_mkdir(place: &SchemaPlace) -> &'static str {
    match place {
        SchemaPlace::Constraints(..) | SchemaPlace::Constraint(..) => {
            "a check is made with mkdir; what it asks for is written to files in it, such as `type`"
        }
        SchemaPlace::Indexes(..) | SchemaPlace::Index(..) => {
            "an index is made with mkdir; what it is of is written to the file `columns` in it"
        }
        _ => "a family is declared with mkdir",
    }
}
