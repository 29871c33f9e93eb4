//! The control socket from outside: a [`Backend`] that asks the daemon of a mounted store.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::connection::Connection;
use super::line::{Line, answer, out_of_step};
use super::parts;
use super::pieces::{RemoteRows, more_pieces};
use super::process::Process;
use super::protocol::{Hello, PART, Request, Response, send};
use crate::backend::{
    Backend, ChangesPage, ChangesQuery, ColumnNumbers, ColumnsPage, CompactionKind, DeletedPage, DeletedQuery,
    Directory, FamilyColumns, FamilyNumbers, HistoryFrom, PurgeScope, RenameCell, Restoration, RowListing, Rows,
    SnapshotInfo, Status, Subscriber, VersionRun, Versions,
};
use crate::daemon::mounts::locate::MountEntry;
use crate::daemon::numbers::DaemonNumbers;
use crate::model::{
    AttributeChange, Catalogue, CatalogueChange, CellInfo, Cells, CheckEvent, CheckSummary, ColumnKey, Condition, Get,
    KeyList, ManyRows, Mutated, Mutation, Origin, Qualifier, RowMutations, RowResult, Scan, SeqNo, TableName,
    TakePiece, TimeRange, Timestamp, VALUE_PIECE,
};
use crate::{Error, ErrorKind, Result};

/// A backend in another process.
pub struct Client(Connection);

impl Client {
    /// Connects to the daemon that serves the store in the directory `store`, or to the command that has opened it; `None`
    /// when there is none. Kind `TimedOut` when it is there and does not answer.
    pub fn connect(store: &Path) -> Result<Option<Self>> {
        Ok(Connection::open(store)?.map(Self))
    }

    /// What the daemon said of itself.
    pub fn hello(&self) -> &Hello {
        self.0.hello()
    }

    /// The daemon's number: the kernel's word where it has one, else its own.
    pub fn pid(&self) -> u32 {
        self.0.process().map_or(self.hello().pid, Process::pid)
    }

    /// Whether this mount is the daemon's own: a store may be mounted elsewhere by now, and a mount bound elsewhere.
    pub fn serves(&self, mount: &MountEntry) -> bool {
        self.hello().mount_point() == Some(&mount.mount_point)
    }

    /// Tells the daemon of a mount to end. Nothing is done unless the process that listens is of the user who has made
    /// the mount, whatever is said on the socket.
    pub fn end(&self, mount: &MountEntry) {
        match self.0.process() {
            Some(process) if Some(process.user()) == mount.user => process.end(),
            _ => log::warn!("{} is answered for by a process that did not mount it", mount.source.display()),
        }
    }

    /// What the daemon has counted since its start.
    pub fn numbers(&self) -> Result<DaemonNumbers> {
        match self.ask(&Request::Numbers)? {
            Response::Numbers(numbers) => Ok(*numbers),
            _ => Err(out_of_step()),
        }
    }

    /// Whether the cluster that it mounts answers now.
    pub fn cluster_answers(&self) -> Result<bool> {
        match self.ask(&Request::ClusterAnswers)? {
            Response::Whether(answers) => Ok(answers),
            _ => Err(out_of_step()),
        }
    }

    /// Returns when the daemon has ended, or after `timeout`; true when it has.
    pub fn wait_for_end(&self, timeout: Duration) -> bool {
        self.0.wait_for_end(timeout)
    }

    fn ask(&self, request: &Request) -> Result<Response> {
        let mut line = self.0.line()?;
        self.0.say(&mut line, |line| send(line, request))?;
        answer(&mut *line)
    }

    /// Asks on a connection of its own.
    fn ask_apart(&self, request: &Request) -> Result<Line> {
        let mut line = self.0.another_line()?;
        self.0.say(&mut line, |line| send(line, request))?;
        Ok(line)
    }

    fn pieces(&self, request: &Request, take: TakePiece<'_>) -> Result<()> {
        let mut line = self.ask_apart(request)?;
        while let Some(pieces) = more_pieces(&mut line)? {
            pieces.iter().try_for_each(&mut *take)?;
        }
        Ok(())
    }

    fn done(&self, request: &Request) -> Result<()> {
        match self.ask(request)? {
            Response::Done => Ok(()),
            _ => Err(out_of_step()),
        }
    }
}

/// Takes one kind of answer apart.
macro_rules! expect {
    ($self:ident, $request:expr, $pattern:pat => $value:expr) => {
        match $self.ask(&$request)? {
            $pattern => Ok($value),
            _ => Err(out_of_step()),
        }
    };
}

impl Backend for Client {
    fn catalogue(&self) -> Result<Arc<Catalogue>> {
        expect!(self, Request::Catalogue, Response::Catalogue(catalogue) => Arc::new(catalogue))
    }

    fn alter(&self, change: CatalogueChange, _origin: Origin) -> Result<()> {
        self.done(&Request::Alter(change))
    }

    fn get(&self, get: &Get) -> Result<RowResult> {
        let (mut line, request) = (self.0.line()?, Request::Get(get.clone()));
        self.0.say(&mut line, |line| send(line, &request))?;
        let (mut result, mut cells) = (RowResult { row: get.row.clone(), cells: Vec::new() }, Cells::default());
        while let Some(pieces) = more_pieces(&mut line)? {
            result.cells.extend(pieces.iter().filter_map(|piece| cells.take(piece)));
        }
        Ok(result)
    }

    fn get_pieces(&self, get: &Get, take: TakePiece<'_>) -> Result<()> {
        self.pieces(&Request::Get(get.clone()), take)
    }

    fn scan(&self, scan: &Scan) -> Result<Rows<'_>> {
        self.ask_apart(&Request::Scan(scan.clone())).map(|line| Box::new(RemoteRows::from(line)) as Rows<'_>)
    }

    fn scan_pieces(&self, scan: &Scan, take: TakePiece<'_>) -> Result<()> {
        self.pieces(&Request::Scan(scan.clone()), take)
    }

    fn check(&self, tell: &mut dyn FnMut(CheckEvent) -> Result<()>) -> Result<CheckSummary> {
        let mut line = self.ask_apart(&Request::Check)?;
        loop {
            let Response::Checked(event) = answer(&mut line)? else { return Err(out_of_step()) };
            let end = if let CheckEvent::End(summary) = event { Some(summary) } else { None };
            tell(event)?;
            if let Some(summary) = end {
                return Ok(summary);
            }
        }
    }

    fn mutate(&self, mut mutations: RowMutations, condition: Option<Condition>) -> Result<Mutated> {
        // It may have been raised since.
        let now = || expect!(self, Request::Hello, Response::Hello(hello) => hello.value_limit);
        mutations.check_values(self.hello().value_limit).or_else(|_| mutations.check_values(now()?))?;
        let large = parts::take_out(&mut mutations);
        let places = large.iter().map(|large| large.place).collect();
        let (mut line, request) = (self.0.line()?, Request::Mutate(mutations, condition, places));
        let say = |line: &mut Line| {
            send(line, &request)?;
            large.iter().try_for_each(|large| large.send(line))
        };
        self.0.say(&mut line, say)?;
        match answer(&mut *line)? {
            Response::Mutated(done) => Ok(done),
            _ => Err(out_of_step()),
        }
    }

    fn mutate_rows(&self, rows: ManyRows) -> Result<()> {
        // What goes in parts goes row by row.
        let is_large = |mutation: &Mutation| match mutation {
            Mutation::Put(cells) => cells.iter().any(|cell| cell.value.len() > PART as u64),
            Mutation::Restore(cell) => cell.value.len() > PART as u64,
            Mutation::Delete(_) | Mutation::Increment(_) | Mutation::Append(_) => false,
        };
        match rows.rows.iter().flat_map(|(_, mutations)| mutations).any(is_large) {
            true => {
                let keeps_files = rows.keeps_files;
                rows.each().try_for_each(|mut row| {
                    if keeps_files {
                        parts::keep_files(self, &mut row)?;
                    }
                    self.mutate(row, None).map(|_| ())
                })
            }
            false => self.done(&Request::MutateRows(rows)),
        }
    }

    fn moment(&self, table: &TableName) -> Result<Timestamp> {
        expect!(self, Request::Moment(table.clone()), Response::Moment(moment) => moment)
    }

    fn newest(&self, column: &ColumnKey, range: TimeRange) -> Result<Option<CellInfo>> {
        expect!(self, Request::Newest(column.clone(), range), Response::Cell(cell) => cell)
    }

    fn read_value(&self, cell: &CellInfo, offset: u64, len: usize) -> Result<Vec<u8>> {
        let end = cell.len().min(offset.saturating_add(len as u64));
        let mut value = Vec::new();
        while offset + (value.len() as u64) < end {
            let at = offset + value.len() as u64;
            let wanted = (end - at).min(VALUE_PIECE as u64);
            let request = Request::ReadValue(cell.clone(), at, wanted);
            let bytes = expect!(self, request, Response::Bytes(bytes) => bytes)?;
            if bytes.is_empty() {
                break;
            }
            value.extend_from_slice(&bytes);
        }
        Ok(value)
    }

    fn list_rows(&self, listing: &RowListing) -> Result<KeyList> {
        expect!(self, Request::ListRows(listing.clone()), Response::Keys(rows) => rows.into_iter().collect())
    }

    fn count_rows(&self, scan: &Scan) -> Result<Option<u64>> {
        expect!(self, Request::CountRows(scan.clone()), Response::Count(count) => count)
    }

    fn list_families(&self, table: &TableName, row: &[u8], range: TimeRange, which: Versions) -> Result<Vec<String>> {
        let request = Request::ListFamilies(table.clone(), row.to_vec(), range, which);
        expect!(self, request, Response::Names(names) => names)
    }

    fn list_history(
        &self,
        table: &TableName,
        row: &[u8],
        family: &str,
        from: Option<&HistoryFrom>,
        limit: usize,
    ) -> Result<Vec<(Qualifier, CellInfo)>> {
        let (row, family) = (row.to_vec(), family.to_owned());
        let request = Request::ListHistory(table.clone(), row, family, from.cloned(), limit as u64);
        expect!(self, request, Response::Columns(columns) => columns)
    }

    fn list_deleted(&self, query: &DeletedQuery) -> Result<Option<DeletedPage>> {
        expect!(self, Request::ListDeleted(query.clone()), Response::Deleted(page) => Some(page))
    }

    fn list_columns(
        &self,
        table: &TableName,
        row: &[u8],
        family: &str,
        after: Option<&[u8]>,
        range: TimeRange,
        limit: usize,
    ) -> Result<Vec<(Qualifier, CellInfo)>> {
        let after = after.map(<[u8]>::to_vec);
        let request = Request::ListColumns(table.clone(), row.to_vec(), family.to_owned(), after, range, limit as u64);
        expect!(self, request, Response::Columns(columns) => columns)
    }

    fn list_versions(
        &self,
        column: &ColumnKey,
        which: Versions,
        before: Option<Timestamp>,
        limit: usize,
    ) -> Result<Vec<CellInfo>> {
        let request = Request::ListVersions(column.clone(), which, before, limit as u64);
        expect!(self, request, Response::Cells(cells) => cells)
    }

    fn list_around(&self, column: &ColumnKey, timestamp: Timestamp, count: usize) -> Result<VersionRun> {
        expect!(self, Request::ListAround(column.clone(), timestamp, count as u64), Response::Run(run) => run)
    }

    fn rename_cell(&self, rename: &RenameCell) -> Result<CellInfo> {
        expect!(self, Request::RenameCell(rename.clone()), Response::Cell(Some(cell)) => cell)
    }

    fn rename_directory(&self, from: &Directory, to: &Directory, _origin: Origin) -> Result<bool> {
        expect!(self, Request::RenameDirectory(from.clone(), to.clone()), Response::Whether(moved) => moved)
    }

    fn erase_copied(&self, from: &ColumnKey, to: &ColumnKey, last: Option<SeqNo>) -> Result<bool> {
        expect!(self, Request::EraseCopied(from.clone(), to.clone(), last), Response::Whether(erased) => erased)
    }

    fn leave(&self, from: &Directory, to: &Directory) -> Result<bool> {
        expect!(self, Request::Leave(from.clone(), to.clone()), Response::Whether(left) => left)
    }

    fn set_attributes(
        &self,
        column: &ColumnKey,
        cell: &CellInfo,
        change: &AttributeChange,
        _origin: Origin,
    ) -> Result<CellInfo> {
        let request = Request::SetAttributes(column.clone(), cell.clone(), *change);
        expect!(self, request, Response::Cell(Some(cell)) => cell)
    }

    fn sync(&self) -> Result<()> {
        self.done(&Request::Sync)
    }

    fn flush(&self, table: Option<&TableName>) -> Result<()> {
        self.done(&Request::Flush(table.cloned()))
    }

    fn compact(&self, table: &TableName, family: Option<&str>, kind: CompactionKind) -> Result<()> {
        self.done(&Request::Compact(table.clone(), family.map(str::to_owned), kind))
    }

    fn purge(&self, scope: &PurgeScope) -> Result<()> {
        self.done(&Request::Purge(scope.clone()))
    }

    fn snapshots(&self) -> Result<Vec<SnapshotInfo>> {
        expect!(self, Request::Snapshots, Response::Snapshots(snapshots) => snapshots)
    }

    fn create_snapshot(&self, name: &str, table: Option<&TableName>) -> Result<()> {
        self.done(&Request::CreateSnapshot(name.to_owned(), table.cloned()))
    }

    fn delete_snapshot(&self, name: &str) -> Result<()> {
        self.done(&Request::DeleteSnapshot(name.to_owned()))
    }

    fn snapshot(&self, name: &str) -> Result<Arc<dyn Backend>> {
        let text = match self.hello().is_mount() {
            true => format!("read snapshot {name} below {}/.snapshot/{name}", self.hello().shown_mount_point()),
            false => format!("process {} has the store open: read snapshot {name} when it has ended", self.pid()),
        };
        Err(Error::new(ErrorKind::Unsupported, text))
    }

    fn restore(&self, restoration: &Restoration, _origin: Origin) -> Result<()> {
        self.done(&Request::Restore(restoration.clone()))
    }

    fn status(&self) -> Result<Status> {
        expect!(self, Request::Status, Response::Status(status) => *status)
    }

    fn table_numbers(&self, table: &TableName) -> Result<Vec<FamilyNumbers>> {
        expect!(self, Request::TableNumbers(table.clone()), Response::TableNumbers(numbers) => numbers)
    }

    fn table_columns(&self, table: &TableName) -> Result<Vec<FamilyColumns>> {
        expect!(self, Request::TableColumns(table.clone()), Response::TableColumns(columns) => columns)
    }

    fn columns_page(&self, page: &ColumnsPage) -> Result<Vec<ColumnNumbers>> {
        expect!(self, Request::ColumnsPage(page.clone()), Response::ColumnsPage(columns) => columns)
    }

    fn changes(&self, query: &ChangesQuery) -> Result<ChangesPage> {
        expect!(self, Request::Changes(query.clone()), Response::Changes(page) => page)
    }

    fn value_limit(&self) -> u64 {
        self.hello().value_limit
    }

    fn now(&self) -> Timestamp {
        let now = || expect!(self, Request::Hello, Response::Hello(hello) => hello.now);
        // One that does not answer any more says so to what follows.
        now().unwrap_or(self.hello().now)
    }

    fn hash_key(&self) -> [u8; 16] {
        self.hello().hash_key
    }

    /// A client holds no cache that could grow old.
    fn subscribe(&self, _subscriber: Subscriber) {}
}
