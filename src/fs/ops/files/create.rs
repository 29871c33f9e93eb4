//! Creating files: cells, and generated ones that are set by what is written.

use std::time::Duration;

use crate::fs::base::Fs;
use crate::fs::base::not_permitted;
use crate::fs::bytes::content::Content;
use crate::fs::caller::Creator;
use crate::fs::handles::table::{Handle, OpenFlags, Opened};
use crate::fs::kinds::text::is_writable;
use crate::fs::ops::files::open::new_file;
use crate::fs::shown::attr::EntryReply;
use crate::tree::found::Facts;
use crate::tree::place::{NodeKey, Place, SchemaPlace};
use crate::tree::view::View;
use crate::tree::{resolve, ungiven};
use crate::{Error, ErrorKind, Result};

impl Fs {
    /// Creates a file, or opens the one that is there.
    pub fn create(&self, parent: u64, name: &[u8], creator: Creator, flags: OpenFlags) -> Result<(EntryReply, Opened)> {
        let dir = self.node(parent)?.key();
        crate::fs::counts::subject::is_named(name);
        self.check_writable(&dir)?;
        let key = resolve::target(&*self.tree_of(&dir)?, &dir, name)?;
        self.check_writable(&key)?;
        if !key.place.is_value() {
            return self.create_text(&key, flags);
        }
        let family_ttl = self.check_family(&key)?;
        if let Some(entry) = self.known(&key)? {
            if flags.exclusive {
                self.forget(entry.attr.ino, 1);
                return Err(Error::new(ErrorKind::AlreadyExists, "it exists"));
            }
            let opened = self.open(entry.attr.ino, flags).inspect_err(|_| self.forget(entry.attr.ino, 1))?;
            return Ok((entry, opened));
        }
        if let Some(sentence) = self.check_dated(&dir, &key, name)? {
            self.record_sentence(creator.caller, "create", &sentence);
        }
        if !matches!(key.place, Place::Scratch(_)) {
            self.tree.backend.check_room()?;
        }
        self.touch_directory(parent);
        self.absent.remove(parent, name);
        let node = self.nodes.look_up(&key);
        let file = new_file(&node);
        {
            let mut state = node.state();
            (state.unlinked, state.refused, state.cell) = (false, None, None);
            // Who appends to a file that was not there keeps what another makes of it meanwhile.
            self.empty(&mut state, &file, flags.append.then_some(0));
            if let Some(session) = &mut state.session {
                session.file = self.by_creator(&key, creator);
            }
        }
        match &key.place {
            Place::Cell(column) => self.tree.uncommitted.add_cell(column),
            Place::Scratch(place) => {
                self.scratch.write(place, &Content::empty(), &self.scratch_meta(node.state().session.as_deref()))?
            }
            _ => {}
        }
        let handle = self.handles.add(Handle::File(file)).inspect_err(|_| self.forget(node.ino, 1))?;
        let state = node.state();
        let attr = self.attr_of(&node, &key, &state, None);
        let is_cell = key.view == View::Plain && matches!(key.place, Place::Cell(_));
        let cached = if is_cell { self.options.cache_time } else { Duration::ZERO };
        let entry_ttl = family_ttl.map_or(cached, |ttl| ttl.min(cached));
        let entry = EntryReply { attr, entry_ttl, attr_ttl: Duration::ZERO };
        Ok((entry, Opened { handle, keep_cache: true, no_flush: false, direct: false }))
    }

    fn create_text(&self, key: &NodeKey, flags: OpenFlags) -> Result<(EntryReply, Opened)> {
        match &key.place {
            place if is_writable(place) => {}
            Place::Schema(place) => return Err(not_permitted(made_with_mkdir(place))),
            Place::Versions(column) => return Err(ungiven::versions_are_given(&self.tree, column)),
            _ => return Err(not_permitted("cells live in families: this level has only directories")),
        }
        self.check_row_table(key)?;
        if let Some(entry) = self.known(key)? {
            if self.is_made_by_copy(key)? {
                return Ok((entry, self.open(entry.attr.ino, OpenFlags { truncate: true, ..flags })?));
            }
            if flags.exclusive {
                self.forget(entry.attr.ino, 1);
                return Err(Error::new(ErrorKind::AlreadyExists, "it exists"));
            }
            return Ok((entry, self.open(entry.attr.ino, flags)?));
        }
        if let Place::Schema(place) = &key.place {
            self.texts.set(place, Vec::new())?;
            self.tell_of_scratch(place);
        }
        let entry = self.entry(key, Some(Facts::text(Vec::new(), self.now())));
        let node = self.node(entry.attr.ino)?;
        node.state().created_text = true;
        Ok((entry, self.add_text(node, Vec::new(), flags, true)?))
    }

    /// Whoever mistypes an attribute's name makes a scratch file: it is said. Programs' own begin with a dot or have one.
    fn tell_of_scratch(&self, place: &SchemaPlace) {
        let SchemaPlace::Scratch { name, .. } = place else { return };
        if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return;
        }
        let text = format!(
            "`{name}` is the name of no attribute: it is kept here until the unmount and sets nothing; \
             .info/describe of the table lists attributes"
        );
        self.record_sentence(crate::fs::counts::subject::caller(), "create", &text);
    }

    /// mknod(2): only regular files, as `create` makes them.
    pub fn mknod(&self, parent: u64, name: &[u8], creator: Creator) -> Result<EntryReply> {
        if creator.mode & libc::S_IFMT != libc::S_IFREG {
            self.node(parent)?;
            crate::fs::counts::subject::is_named(name);
            return Err(not_permitted("a cell is a regular file; nothing else can be made"));
        }
        let flags = OpenFlags { write: true, exclusive: true, ..OpenFlags::default() };
        let (entry, opened) = self.create(parent, name, creator, flags)?;
        self.release(opened.handle)?;
        Ok(entry)
    }
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
