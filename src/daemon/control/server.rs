//! The control socket from inside: what is asked on a connection, and its answers.
//!
//! An answer to a change is sent after the kernel has taken the invalidations that it caused. However large rows and
//! values are, a connection holds some messages of a few hundred KiB; large requests are taken one at a time.

use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::env::sync::{Mutex, MutexGuard};

use nix::poll::{PollFd, PollFlags, PollTimeout};

use super::crowd::{Place, Underway, Watched};
use super::parts;
use super::protocol::{ANSWER_BYTES, Hello, LargeValue, Request, Response, receive_large, send};
use crate::backend::Backend;
use crate::daemon::mounts::watched::{Since, WatchedMount, refusal};
use crate::daemon::numbers::{Commands, DaemonNumbers, resident_bytes};
use crate::fs::{Closing, Fs, Invalidations, commanded};
use crate::model::{CatalogueChange, Condition, Piece, RowMutations, TakePiece, Timestamp, VALUE_PIECE};
use crate::tree::history::deleted;
use crate::{Error, ErrorKind, Result};

/// How long an answer waits for the kernel to take invalidations.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a client may keep silent at first, and within a message.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// What the server serves.
pub struct Control {
    pub backend: Arc<dyn Backend>,
    pub invalidations: Invalidations,
    pub closing: Arc<Closing>,
    /// `None`: a command has opened the store, and nothing is mounted.
    pub mount: Option<Mount>,
    /// Where large values of requests wait.
    pub spill_dir: PathBuf,
    pub started_at: Timestamp,
    pub commands: Commands,
    /// What a clean end waits for.
    pub changes: Arc<Underway>,
    /// Whatever is asked, until it is answered.
    pub requests: Arc<Underway>,
    /// Held by the connection whose request is more than a piece.
    pub large: Mutex<()>,
}

/// What a daemon shows of the store.
pub struct Mount {
    pub point: PathBuf,
    /// Mounted with the option `ro`.
    pub read_only: bool,
    pub watched: WatchedMount,
    /// Why the store itself takes no changes, if it does not.
    pub no_changes: Option<Error>,
    pub fs: Arc<Fs>,
}

impl Mount {
    /// Refused where the kernel refuses: what is below the mount is not to change.
    fn check_writable(&self) -> Result<()> {
        let since = match (self.read_only, self.watched.is_read_only()) {
            (true, _) => Since::Mount,
            (false, true) => Since::Remount,
            (false, false) => return Ok(()),
        };
        Err(self.no_changes.clone().unwrap_or_else(|| refusal(&self.point, since)))
    }
}

/// Answers what comes on a connection, until its end.
pub fn serve(stream: &UnixStream, control: &Control, place: &Place) -> Result<()> {
    let setup = |e: std::io::Error| Error::io("set up a control connection", &e);
    stream.set_read_timeout(Some(READ_TIMEOUT)).map_err(setup)?;
    let watched = || Ok::<_, Error>(Watched { stream: stream.try_clone().map_err(setup)?, place, heard: 0 });
    let (mut input, mut output) = (watched()?, watched()?);
    let first = PollTimeout::try_from(READ_TIMEOUT).unwrap_or(PollTimeout::MAX);
    let mut asked = is_asked(stream, first);
    while asked {
        let mut large: Option<MutexGuard<'_, ()>> = None;
        let mut begin_large = || {
            // It waits for others now, nobody for it.
            place.begin();
            large = Some(control.large.lock());
        };
        let request = receive_large(&mut input, &mut begin_large)?;
        let Some(request) = request.filter(|_| place.begin()) else { return Ok(()) };
        serve_one((&mut input, &mut output), control, request)?;
        drop(large);
        // Between messages it may be silent as long as it likes: people at a shell think.
        asked = place.rest() && is_asked(stream, PollTimeout::NONE);
    }
    Ok(())
}

fn serve_one((input, output): (&mut Watched<'_>, &mut Watched<'_>), control: &Control, request: Request) -> Result<()> {
    control.commands.count(request.kind());
    let _request = control.requests.begin();
    control.closing.wait(|column| request.may_concern(column));
    // A compaction may be cut off: it changes nothing that anybody sees.
    let _change = (is_change(&request) && !matches!(request, Request::Compact(..))).then(|| control.changes.begin());
    let response = match request {
        Request::Get(get) => return stream_pieces(output, |take| control.backend.get_pieces(&get, take)),
        Request::Scan(scan) => return stream_pieces(output, |take| control.backend.scan_pieces(&scan, take)),
        Request::Check => return stream_check(output, control),
        Request::Mutate(mutations, condition, places) if !places.is_empty() => {
            mutate_large(input, control, (mutations, condition), &places)?
        }
        request => answer(control, request),
    };
    let response = response.unwrap_or_else(Response::Failed);
    match send(output, &response) {
        // Nothing of it was sent.
        Err(e) if e.kind == ErrorKind::ValueTooLarge => {
            let done = matches!(response, Response::Mutated(_));
            send(output, &Response::Failed(if done { e.context("it is done, but the answer is too long") } else { e }))
        }
        sent => sent,
    }
}

/// Puts whose values come behind the request. The outer error is the connection's.
fn mutate_large(
    input: &mut Watched<'_>,
    control: &Control,
    (mut mutations, condition): (RowMutations, Option<Condition>),
    places: &[LargeValue],
) -> Result<Result<Response>> {
    let limits = (control.backend.value_limit(), control.spill_dir.as_path());
    let whole = parts::put_back(input, &mut mutations, places, limits, control.backend.as_ref())?;
    input.place.begin();
    Ok(whole.and_then(|()| answer(control, Request::Mutate(mutations, condition, Vec::new()))))
}

/// Waits for the next message, or for the end of the connection; false if there is neither in time.
fn is_asked(stream: &UnixStream, limit: PollTimeout) -> bool {
    let mut asked = [PollFd::new(stream.as_fd(), PollFlags::POLLIN)];
    loop {
        match nix::poll::poll(&mut asked, limit) {
            Err(nix::errno::Errno::EINTR) => {}
            polled => return polled.is_ok_and(|ready| ready > 0),
        }
    }
}

/// Answers with pieces, many in a message, and holds no more than one message of them.
fn stream_pieces(output: &mut Watched<'_>, read: impl FnOnce(TakePiece<'_>) -> Result<()>) -> Result<()> {
    let (mut held, mut bytes) = (Vec::new(), 0);
    let mut lost = false;
    let done = read(&mut |piece: &Piece| {
        bytes += piece.size();
        held.push(piece.clone());
        if bytes < ANSWER_BYTES {
            return Ok(());
        }
        bytes = 0;
        send(output, &Response::Pieces(std::mem::take(&mut held))).inspect_err(|_| lost = true)
    });
    if lost {
        return done;
    }
    if !held.is_empty() {
        send(output, &Response::Pieces(held))?;
    }
    send(output, &done.map_or_else(Response::Failed, |()| Response::End))
}

fn stream_check(output: &mut Watched<'_>, control: &Control) -> Result<()> {
    let checked = control.backend.check(&mut |event| send(output, &Response::Checked(event)));
    match checked {
        Err(e) if e.kind == ErrorKind::Disconnected => Err(e),
        Err(e) => send(output, &Response::Failed(e)),
        Ok(_) => Ok(()),
    }
}

fn answer(control: &Control, request: Request) -> Result<Response> {
    let backend = control.backend.as_ref();
    let changes = is_change(&request);
    if let Some(mount) = control.mount.as_ref().filter(|_| changes_cells(&request)) {
        mount.check_writable()?;
    }
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let response = match request {
        Request::Hello => Response::Hello(hello(control)),
        Request::Catalogue => Response::Catalogue(backend.catalogue()?.as_ref().clone()),
        Request::Moment(table) => Response::Moment(backend.moment(&table)?),
        Request::Newest(column, range) => Response::Cell(backend.newest(&column, range)?),
        Request::ReadValue(cell, offset, len) => {
            let len = usize::try_from(len).unwrap_or(usize::MAX).min(VALUE_PIECE);
            Response::Bytes(backend.read_value(&cell, offset, len)?)
        }
        Request::CountRows(scan) => Response::Count(backend.count_rows(&scan)?),
        Request::ListRows(listing) => Response::Keys(backend.list_rows(&listing)?.iter().map(<[u8]>::to_vec).collect()),
        Request::ListFamilies(table, row, range, which) => {
            Response::Names(backend.list_families(&table, &row, range, which)?)
        }
        Request::ListAround(column, timestamp, count) => {
            Response::Run(backend.list_around(&column, timestamp, size(count))?)
        }
        Request::ListHistory(table, row, family, from, limit) => {
            Response::Columns(backend.list_history(&table, &row, &family, from.as_ref(), size(limit))?)
        }
        Request::ListDeleted(query) => Response::Deleted(deleted::page(backend, &query)?),
        Request::ListColumns(table, row, family, after, range, limit) => {
            Response::Columns(backend.list_columns(&table, &row, &family, after.as_deref(), range, size(limit))?)
        }
        Request::ListVersions(column, which, before, limit) => {
            Response::Cells(backend.list_versions(&column, which, before, size(limit))?)
        }
        Request::Numbers => Response::Numbers(Box::new(DaemonNumbers {
            started_at: control.started_at.0,
            resident_bytes: resident_bytes(),
            mount: control.mount.as_ref().map(|mount| mount.fs.numbers()).unwrap_or_default(),
            commands: control.commands.numbers(),
        })),
        Request::Status => Response::Status(Box::new(backend.status()?)),
        Request::ClusterAnswers => Response::Whether(backend.cluster_numbers().is_ok()),
        Request::TableNumbers(table) => Response::TableNumbers(backend.table_numbers(&table)?),
        Request::ColumnsPage(page) => Response::ColumnsPage(backend.columns_page(&page)?),
        Request::TableColumns(table) => Response::TableColumns(backend.table_columns(&table)?),
        Request::Changes(query) => Response::Changes(backend.changes(&query)?),
        Request::Snapshots => Response::Snapshots(backend.snapshots()?),
        Request::Get(_) | Request::Scan(_) | Request::Check => {
            return Err(Error::new(ErrorKind::Unsupported, "this is answered piece by piece"));
        }
        change => match control.mount.as_ref().map(|mount| move_below(&mount.fs, &change)).transpose()?.flatten() {
            Some(moved) => moved,
            None => apply(backend, change)?,
        },
    };
    if changes && control.mount.is_some() && !control.invalidations.drain(DRAIN_TIMEOUT) {
        log::warn!("the kernel has not taken the invalidations of a change within {DRAIN_TIMEOUT:?}");
    }
    Ok(response)
}

/// Whether a read-only mount refuses it: what users see would be other than before.
fn changes_cells(request: &Request) -> bool {
    let keeps_house = matches!(
        request,
        Request::Flush(_) | Request::Compact(..) | Request::CreateSnapshot(..) | Request::DeleteSnapshot(_)
    );
    is_change(request) && !keeps_house
}

fn is_change(request: &Request) -> bool {
    matches!(
        request,
        Request::Alter(_)
            | Request::Mutate(..)
            | Request::MutateRows(_)
            | Request::RenameCell(_)
            | Request::RenameDirectory(..)
            | Request::EraseCopied(..)
            | Request::Leave(..)
            | Request::SetAttributes(..)
            | Request::Flush(_)
            | Request::Compact(..)
            | Request::Purge(_)
            | Request::CreateSnapshot(..)
            | Request::DeleteSnapshot(_)
            | Request::Restore(_)
    )
}

/// What moves names goes through the mount, so that whoever has them open goes on there; `None`: it is no move.
fn move_below(fs: &Fs, request: &Request) -> Result<Option<Response>> {
    Ok(Some(match request {
        Request::Alter(CatalogueChange::RenameTable { from, to }) => {
            commanded::rename_table(fs, from, to)?;
            Response::Done
        }
        Request::RenameDirectory(from, to) => Response::Whether(commanded::rename_directory(fs, from, to)?),
        Request::EraseCopied(from, to, last) => Response::Whether(commanded::erase_copied(fs, from, to, *last)?),
        Request::Leave(from, to) => Response::Whether(commanded::leave(fs, from, to)?),
        _ => return Ok(None),
    }))
}

fn apply(backend: &dyn Backend, request: Request) -> Result<Response> {
    let nobody = crate::model::Origin::default();
    match request {
        Request::Alter(change) => backend.alter(change, nobody)?,
        Request::Mutate(mutations, condition, _) => {
            return Ok(Response::Mutated(backend.mutate(mutations, condition)?));
        }
        Request::RenameCell(rename) => return Ok(Response::Cell(Some(backend.rename_cell(&rename)?))),
        Request::SetAttributes(column, cell, change) => {
            return Ok(Response::Cell(Some(backend.set_attributes(&column, &cell, &change, nobody)?)));
        }
        Request::CreateSnapshot(name, table) => backend.create_snapshot(&name, table.as_ref())?,
        Request::DeleteSnapshot(name) => backend.delete_snapshot(&name)?,
        Request::Restore(restoration) => backend.restore(&restoration, nobody)?,
        Request::RenameDirectory(from, to) => {
            return Ok(Response::Whether(backend.rename_directory(&from, &to, nobody)?));
        }
        Request::EraseCopied(from, to, last) => return Ok(Response::Whether(backend.erase_copied(&from, &to, last)?)),
        Request::Leave(from, to) => return Ok(Response::Whether(backend.leave(&from, &to)?)),
        Request::MutateRows(rows) => backend.mutate_rows(rows)?,
        Request::Sync => backend.sync()?,
        Request::Purge(scope) => backend.purge(&scope)?,
        Request::Flush(table) => backend.flush(table.as_ref())?,
        Request::Compact(table, family, kind) => backend.compact(&table, family.as_deref(), kind)?,
        _ => return Err(Error::new(ErrorKind::Unsupported, "this is no change")),
    }
    Ok(Response::Done)
}

fn hello(control: &Control) -> Hello {
    let mount = control.mount.as_ref();
    Hello {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        mount_point: mount.map(|mount| mount.point.as_os_str().as_bytes().to_vec()),
        read_only: mount.is_some_and(|mount| mount.read_only),
        no_xattr: mount.is_some_and(|mount| mount.fs.options().no_xattr),
        value_limit: control.backend.value_limit(),
        now: control.backend.now(),
        hash_key: control.backend.hash_key(),
        spelling: mount.map(|mount| mount.fs.spelling()).unwrap_or_default(),
    }
}
