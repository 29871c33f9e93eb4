//! Pages of a listing: the one that is asked for, and the next one beside the answer.

use std::sync::Arc;

use crate::Result;
use crate::fs::base::Fs;
use crate::fs::handles::ahead::{PAGE, Page};
use crate::fs::handles::table::DirHandle;
use crate::fs::shown::known;
use crate::tree::list::listing::{self, Listed};
use crate::tree::place::{NodeKey, Place};
use crate::tree::view::View;

/// The entries after a key: those that were fetched ahead, else the store's.
pub fn next_page(fs: &Fs, dir: &DirHandle, key: &NodeKey, after: Option<&[u8]>) -> Result<Page> {
    let page = dir.ahead.take(after).map_or_else(|| page_after(fs, key, after), Ok)?;
    if page.entries.len() == PAGE
        && is_cheap(key)
        && let Some(last) = page.entries.last()
    {
        dir.ahead.want(last.cursor);
    }
    Ok(page)
}

fn page_after(fs: &Fs, key: &NodeKey, after: Option<&[u8]>) -> Result<Page> {
    // Order: before the store is asked.
    let seen = fs.changes.now();
    let entries = listing::page(&*known::tree_of_open(fs, key)?, key, after, PAGE)?;
    let below = fs.nodes.numbers_below(key);
    let own = |entry: Listed<'_>| Some(below.as_ref()?.of(entry.key_below()?));
    let own: Vec<_> = entries.iter().map(own).collect();
    let held = entries.held() + size_of_val(own.as_slice());
    Ok(Page { own, entries, seen, held })
}

/// An open directory whose next page is to be fetched with [`list_ahead`], beside what is answered.
pub fn to_list_ahead(fs: &Fs, number: u64) -> Option<Arc<DirHandle>> {
    fs.handles.dir(number).ok().filter(|dir| dir.ahead.begin())
}

/// Fetches it. What fails is found by who asks for it.
pub fn list_ahead(fs: &Fs, dir: &DirHandle) {
    // Of the old place there would be nothing.
    let _stays = fs.moves.read_recursive();
    fs.fetched.fill(&dir.ahead, |after| page_after(fs, &dir.node.key(), Some(after)));
}

/// Whether a page costs about what its entries do, however few are taken of it.
fn is_cheap(key: &NodeKey) -> bool {
    key.asked.is_none() && key.view == View::Plain && matches!(key.place, Place::Table(_) | Place::Family(_))
}
