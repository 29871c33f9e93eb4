//! What a cluster declares, as a catalogue; remembered for a second, or longer where it takes long to tell.
//!
//! The master tells it. Who looks at what has aged waits a moment for the answer, and goes on with what was said before if
//! none comes: rows are served without a master. While none is active and nothing was said yet, hbase:meta and the servers
//! of regions tell what they know.
//!
//! Tables that `mkdir` has made and that have no family yet exist here alone: HBase has no table without one. They are
//! forgotten when the mount ends, [`MOST_PENDING`] of them are held at most.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::schemas::{numbered, own_namespace, own_table};
use super::told_schema;
use crate::backend::Event;
use crate::env::sync::{Condvar, Mutex, spawn};
use crate::hbase::Listeners;
use crate::hbase::client::{Cluster, within};
use crate::model::{Catalogue, NamespaceSchema, TableName, TableSchema, TableState};
use crate::{Error, ErrorKind, Result};

/// How long what the cluster said is believed, at least.
const FRESH: Duration = Duration::from_secs(1);
/// And so many times as long as it took to say it: however many tables there are, a mount asks for them a twentieth of the
/// time at most.
const SHARE: u32 = 20;
const MOST_FRESH: Duration = Duration::from_secs(30);
/// How long who looks waits for what is asked anew.
const MOMENT: Duration = Duration::from_secs(1);
/// How long after the master has not answered it is asked again.
const AGAIN: Duration = Duration::from_secs(3);
/// The part of an operation's time that asking anew may take.
const PART: u32 = 4;
/// How long a master that may be away is waited for where the servers of regions can tell in its place.
const PATIENCE: Duration = Duration::from_secs(3);
const MOST_PENDING: usize = 1000;

struct Known {
    catalogue: Arc<Catalogue>,
    /// Until when it is believed.
    until: Instant,
}

#[derive(Default)]
struct State {
    known: Option<Known>,
    version: u64,
    pending: BTreeMap<TableName, TableSchema>,
    /// Changes that were made from here, and how many of them what is known has.
    changes: u64,
    changes_known: u64,
    /// It is asked for beside those who look.
    is_asked: bool,
    /// The last answer took longer than a moment, or there was none.
    is_slow: bool,
    /// What was told of a master that is away.
    away: Option<String>,
}

/// See the module.
pub(in crate::hbase) struct Described {
    state: Mutex<State>,
    answered: Condvar,
    /// One asks first, the others wait for the answer.
    first: Mutex<()>,
    listeners: Arc<Listeners>,
}

/// Whether a failure says that the master cannot be asked now.
pub(in crate::hbase) fn is_away(error: &Error) -> bool {
    matches!(error.kind, ErrorKind::TimedOut | ErrorKind::Disconnected)
}

/// Asks something of a master that may be away.
pub(in crate::hbase) fn for_a_moment<T>(cluster: &Cluster, ask: impl FnOnce() -> T) -> T {
    within((cluster.timeout() / PART).min(PATIENCE), ask)
}

impl Described {
    pub fn new(listeners: Arc<Listeners>) -> Self {
        Self { state: Mutex::default(), answered: Condvar::new(), first: Mutex::default(), listeners }
    }

    /// What is declared; asked anew if it was asked for longer ago than a second.
    pub fn catalogue(self: &Arc<Self>, cluster: &Arc<Cluster>) -> Result<Arc<Catalogue>> {
        let state = self.state.lock();
        match &state.known {
            Some(known) if state.changes_known == state.changes => {
                if Instant::now() < known.until {
                    return Ok(Arc::clone(&known.catalogue));
                }
            }
            _ => {
                drop(state);
                return self.first(cluster);
            }
        }
        self.ask_beside(state, cluster)
    }

    /// Has it asked for beside, and waits a moment: what was said before is better than to wait for a master that is away.
    fn ask_beside(
        self: &Arc<Self>,
        mut state: crate::env::sync::MutexGuard<'_, State>,
        cluster: &Arc<Cluster>,
    ) -> Result<Arc<Catalogue>> {
        if !state.is_asked {
            let (described, at) = (Arc::clone(self), Arc::clone(cluster));
            let asks = move || {
                let asked = within(at.timeout() / PART, || described.ask(&at));
                described.heard(asked.err());
            };
            match spawn("hbase-catalogue", asks) {
                Ok(_) => state.is_asked = true,
                Err(e) => log::warn!("the tables are not asked for: {e}"),
            }
        }
        let until = crate::env::sync::Instant::now() + MOMENT;
        while state.is_asked && !state.is_slow {
            state.is_slow = self.answered.wait_until(&mut state, until).timed_out();
        }
        let known = state.known.as_ref().map(|known| Arc::clone(&known.catalogue));
        known.ok_or_else(|| Error::new(ErrorKind::Io, "no tables are known"))
    }

    /// It was asked for beside.
    fn heard(&self, failed: Option<Error>) {
        let mut state = self.state.lock();
        state.is_asked = false;
        if failed.is_some() {
            state.is_slow = true;
            if let Some(known) = &mut state.known {
                known.until = Instant::now() + AGAIN;
            }
        }
        drop(state);
        if let Some(e) = failed {
            self.tell_away(&e, "tables are believed to be as they were");
        }
        self.answered.notify_all();
    }

    /// Where nothing is known, or something was changed from here: who looks waits.
    fn first(&self, cluster: &Cluster) -> Result<Arc<Catalogue>> {
        let _one = self.first.lock();
        let (before, is_away_already) = {
            let state = self.state.lock();
            let known = state.known.as_ref().map(|known| Arc::clone(&known.catalogue));
            match known {
                Some(known) if state.changes_known == state.changes => return Ok(known),
                known => (known, state.away.is_some()),
            }
        };
        if is_away_already
            && before.is_none()
            && let Ok(told) = self.ask_servers(cluster)
        {
            return Ok(told);
        }
        let part = cluster.timeout() / PART;
        let limit = if before.is_some() { part } else { cluster.timeout() - part };
        let e = match within(limit, || self.ask(cluster)) {
            Err(e) if is_away(&e) => e,
            asked => return asked,
        };
        if let Some(before) = before {
            self.tell_away(&e, "tables are believed to be as they were");
            return Ok(before);
        }
        let known = self.ask_servers(cluster).map_err(|other| if is_away(&other) { e.clone() } else { other })?;
        self.tell_away(&e, "tables are shown as hbase:meta and the servers of their regions tell them");
        Ok(known)
    }

    /// What is declared now, as the master says.
    pub fn ask(&self, cluster: &Cluster) -> Result<Arc<Catalogue>> {
        let (started, changes) = (Instant::now(), self.state.lock().changes);
        // Order: no lock is held while the cluster is asked.
        let (namespaces, tables, states) = (cluster.namespaces()?, cluster.tables()?, cluster.table_states()?);
        let mut catalogue = Catalogue { version: 1, ..Catalogue::default() };
        for namespace in namespaces {
            let namespace = own_namespace(namespace);
            catalogue.namespaces.insert(namespace.name.clone(), namespace);
        }
        for table in tables {
            let Some(mut own) = own_table(&table) else { continue };
            own.state = state_of(states.get(own.name.to_string().as_bytes()));
            catalogue.tables.insert(own.name.clone(), own);
        }
        self.tell_back();
        let fresh = (started.elapsed() * SHARE).clamp(FRESH, MOST_FRESH);
        self.state.lock().is_slow = started.elapsed() >= MOMENT;
        Ok(self.keep(catalogue, fresh, changes))
    }

    /// What hbase:meta says of tables, and what the servers of their regions say of families.
    fn ask_servers(&self, cluster: &Cluster) -> Result<Arc<Catalogue>> {
        let changes = self.state.lock().changes;
        let mut catalogue = Catalogue { version: 1, ..Catalogue::default() };
        let states = cluster.table_states()?;
        let until = Instant::now() + cluster.timeout() / PART;
        for (name, state) in &states {
            let name = std::str::from_utf8(name).ok().and_then(|name| TableName::parse(name).ok());
            let Some(name) = name.filter(|name| *name.namespace != *"hbase") else { continue };
            let mut own = numbered(TableSchema::new(name.clone(), std::iter::empty()));
            let left = until.saturating_duration_since(Instant::now());
            if state_of(Some(state)) == TableState::Enabled && !left.is_zero() {
                let told = within(left, || cluster.descriptor(&crate::hbase::convert::table_name(&name)));
                match told.map_err(Error::from).and_then(|text| told_schema::read(&name, &text)) {
                    Ok(told) => own = told,
                    Err(e) => log::warn!("the families of table {name} are not known: {}", e.message),
                }
            }
            own.state = state_of(Some(state));
            catalogue.tables.insert(name, own);
        }
        let names = catalogue.tables.keys().map(|name| name.namespace.to_string());
        for name in names.chain(["default".to_owned()]).collect::<Vec<_>>() {
            let namespace = NamespaceSchema { name: name.clone(), properties: BTreeMap::new() };
            catalogue.namespaces.insert(name, namespace);
        }
        Ok(self.keep(catalogue, AGAIN, changes))
    }

    fn keep(&self, mut catalogue: Catalogue, fresh: Duration, changes: u64) -> Arc<Catalogue> {
        let mut state = self.state.lock();
        state.pending.retain(|name, _| !catalogue.tables.contains_key(name));
        catalogue.tables.extend(state.pending.clone());
        catalogue.version = state.version;
        if state.known.as_ref().is_none_or(|known| *known.catalogue != catalogue) {
            state.version += 1;
            catalogue.version = state.version;
        }
        let catalogue = Arc::new(catalogue);
        // Order: what was changed from here meanwhile may not be in it.
        if state.changes == changes {
            state.changes_known = changes;
            state.known = Some(Known { catalogue: Arc::clone(&catalogue), until: Instant::now() + fresh });
        }
        catalogue
    }

    /// Tells once that the master is away.
    pub fn tell_away(&self, error: &Error, meanwhile: &str) {
        let text = format!(
            "the cluster's master cannot be asked ({}); {meanwhile}, and changes of schemas wait for it",
            error.message
        );
        if self.state.lock().away.replace(text.clone()).is_none() {
            log::warn!("{text}");
            self.listeners.tell(&Event::Noted { about: "the cluster".to_owned(), sentence: text });
        }
    }

    fn tell_back(&self) {
        if self.state.lock().away.take().is_some() {
            log::info!("the cluster's master answers again");
        }
    }

    /// What was told of a master that is away.
    pub fn away(&self) -> Option<String> {
        self.state.lock().away.clone()
    }

    /// What was said before does not hold any more.
    pub fn forget(&self) {
        self.state.lock().changes += 1;
    }

    /// Whether a table has no family yet.
    pub fn is_pending(&self, name: &TableName) -> bool {
        self.state.lock().pending.contains_key(name)
    }

    /// Holds a table that has no family yet.
    pub fn hold(&self, table: TableSchema) -> Result<()> {
        let mut state = self.state.lock();
        if state.pending.len() >= MOST_PENDING {
            let text = format!("{MOST_PENDING} tables wait for their first family already: declare one of each");
            return Err(Error::new(ErrorKind::TooMany, text));
        }
        state.pending.insert(table.name.clone(), numbered(table));
        state.changes += 1;
        Ok(())
    }

    /// Gives up a table without a family; whether there was one.
    pub fn drop_pending(&self, name: &TableName) -> bool {
        let mut state = self.state.lock();
        state.changes += 1;
        state.pending.remove(name).is_some()
    }
}

/// Disabled, or about to be.
fn state_of(said: Option<&i32>) -> TableState {
    if matches!(said, Some(1 | 2)) { TableState::Disabled } else { TableState::Enabled }
}
