//! `.info/access`: every request while somebody follows them. A load of a number is what it costs while nobody does.

use std::sync::Arc;

use crate::Result;
use crate::fs::base::Fs;
use crate::fs::bytes::held_text::HeldText;
use crate::fs::handles::table::{Handle, Opened, TextHandle};
use crate::fs::nodes::node::Node;

pub fn open_accesses(fs: &Fs, node: Arc<Node>) -> Result<Opened> {
    let follows = Some(fs.accesses.open());
    let text = TextHandle { follows, ..TextHandle::new(node, HeldText::default(), None) };
    let opened = fs.handles.add(Handle::Text(Arc::new(text)));
    let handle = opened.inspect_err(|_| fs.accesses.close())?;
    Ok(Opened { handle, keep_cache: false, no_flush: true, direct: true })
}

/// The last use of a handle that followed.
pub fn release_accesses(fs: &Fs, text: &TextHandle) {
    if text.follows.is_some() {
        fs.accesses.close();
    }
}
