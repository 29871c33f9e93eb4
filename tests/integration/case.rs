//! Scenario files: their JSON to the model's words, and answers back to a comparable form.

use std::collections::BTreeMap;

use cellfs::model::{
    Append, Cell, CellKind, ColumnDelta, Columns, CompareOp, Condition, DeleteKind, DeleteMarker, FamilyId,
    FamilyRules, FamilySchema, Get, Increment, KeepDeleted, Mutation, Origin, PutCell, ReadSpec, RowMutations, Scan,
    TableId, TableName, TableSchema, TableState, Time, TimeRange, Timestamp, Tombstone, Value as Bytes,
};
use cellfs::{ErrorKind, Result};
use serde_json::Value;

/// Names columns as a case does: bare qualifiers if the table has one family.
pub struct Naming {
    single: Option<String>,
}

/// The table of a case.
pub fn table(case: &Value) -> (TableSchema, Naming) {
    let declared: Vec<&Value> = match case.get("families") {
        Some(families) => families.as_array().unwrap().iter().collect(),
        None => vec![&case["family"]],
    };
    let single = case.get("families").is_none().then(|| text(&declared[0]["name"]));
    let families: BTreeMap<String, FamilySchema> =
        declared.iter().enumerate().map(|(at, f)| (text(&f["name"]), family(f, at as u32 + 1))).collect();
    let configuration = case.get("config").and_then(Value::as_object).cloned().unwrap_or_default();
    let schema = TableSchema {
        new_families: Default::default(),
        indexes: Default::default(),
        name: TableName { namespace: "default".into(), name: "t".into() },
        id: TableId(1),
        state: TableState::Enabled,
        attributes: BTreeMap::new(),
        metadata: BTreeMap::new(),
        configuration: configuration.into_iter().map(|(k, v)| (k, v.to_string())).collect(),
        families,
    };
    (schema, Naming { single })
}

/// A family with rules, and the attributes that mean the same.
fn family(declared: &Value, id: u32) -> FamilySchema {
    let number = |name: &str| declared.get(name).and_then(Value::as_u64);
    let keep_text = declared.get("keep_deleted").and_then(Value::as_str).unwrap_or("FALSE");
    let rules = FamilyRules {
        versions: number("versions").unwrap_or(1) as u32,
        min_versions: number("min_versions").unwrap_or(0) as u32,
        ttl_ms: number("ttl_ms"),
        keep_deleted: match keep_text {
            "TRUE" => KeepDeleted::True,
            "TTL" => KeepDeleted::Ttl,
            _ => KeepDeleted::False,
        },
        new_version_behavior: declared.get("new_version_behavior").and_then(Value::as_bool).unwrap_or(false),
        time_to_purge_deletes_ms: number("time_to_purge_deletes_ms").unwrap_or(0),
        ..FamilyRules::default()
    };
    let mut attributes = BTreeMap::from([
        ("VERSIONS".to_owned(), rules.versions.to_string()),
        ("MIN_VERSIONS".to_owned(), rules.min_versions.to_string()),
        ("KEEP_DELETED_CELLS".to_owned(), keep_text.to_owned()),
        ("NEW_VERSION_BEHAVIOR".to_owned(), rules.new_version_behavior.to_string()),
    ]);
    if let Some(ttl) = rules.ttl_ms.filter(|ms| ms % 1000 == 0) {
        attributes.insert("TTL".into(), (ttl / 1000).to_string());
    }
    FamilySchema {
        name: text(&declared["name"]),
        id: FamilyId(id),
        attributes,
        metadata: BTreeMap::new(),
        configuration: BTreeMap::new(),
        rules,
        complete: None,
        made_at: cellfs::model::Timestamp::ZERO,
        back_at: None,
        lives: Vec::new(),
        constraints: Default::default(),
    }
}

/// Text of a JSON string, empty if there is none.
pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Bytes: a string, `{"long":N}`, or `{"hex":".."}`.
pub fn bytes(value: &Value) -> Vec<u8> {
    match value {
        Value::Object(object) => match (object.get("long"), object.get("hex")) {
            (Some(long), _) => long.as_i64().unwrap().to_be_bytes().to_vec(),
            (_, Some(digits)) => hex::decode(digits.as_str().unwrap()).unwrap(),
            _ => panic!("no bytes: {value}"),
        },
        other => text(other).into_bytes(),
    }
}

fn at(value: &Value) -> Time {
    value.as_i64().map_or(Time::Now, |ts| Time::At(Timestamp(ts)))
}

fn u64_of(step: &Value, name: &str) -> Option<u64> {
    step.get(name).and_then(Value::as_u64)
}

/// Whether a boolean is given as true.
pub fn flag(step: &Value, name: &str) -> bool {
    step.get(name).and_then(Value::as_bool).unwrap_or(false)
}

fn range(step: &Value) -> Result<TimeRange> {
    match step.get("time_range").and_then(Value::as_array) {
        Some(ends) => TimeRange::new(ends[0].as_i64().unwrap(), ends[1].as_i64().unwrap()),
        None => Ok(TimeRange::ALL),
    }
}

fn compare_op(symbol: &str) -> CompareOp {
    match symbol {
        "<" => CompareOp::Less,
        "<=" => CompareOp::LessOrEqual,
        "=" | "==" => CompareOp::Equal,
        "!=" => CompareOp::NotEqual,
        ">=" => CompareOp::GreaterOrEqual,
        ">" => CompareOp::Greater,
        _ => panic!("no operator: {symbol}"),
    }
}

impl Naming {
    fn family(&self, step: &Value) -> String {
        step.get("family").and_then(Value::as_str).map_or_else(|| self.single.clone().unwrap(), str::to_owned)
    }

    fn column(&self, name: &str) -> (String, Option<Vec<u8>>) {
        match (&self.single, name.split_once(':')) {
            (Some(family), _) => (family.clone(), Some(name.as_bytes().to_vec())),
            (None, Some((family, qualifier))) => (family.to_owned(), Some(qualifier.as_bytes().to_vec())),
            (None, None) => (name.to_owned(), None),
        }
    }

    fn columns(&self, step: &Value) -> Columns {
        let mut columns = Columns::new();
        let list = |name: &str| step.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
        for family in list("families") {
            columns.insert(text(&family), None);
        }
        let mut names: Vec<String> = list("columns").iter().map(text).collect();
        if let Some(qualifier) = step.get("qual").and_then(Value::as_str) {
            match &self.single {
                Some(_) => names.push(qualifier.to_owned()),
                None => names.push(format!("{}:{qualifier}", self.family(step))),
            }
        }
        for name in names {
            let (family, qualifier) = self.column(&name);
            match qualifier {
                Some(qualifier) => {
                    if let Some(set) = columns.entry(family).or_insert_with(|| Some(Default::default())) {
                        set.insert(qualifier);
                    }
                }
                None => drop(columns.insert(family, None)),
            }
        }
        columns
    }

    fn read(&self, step: &Value) -> Result<ReadSpec> {
        Ok(ReadSpec {
            columns: self.columns(step),
            time_range: range(step)?,
            max_versions: u64_of(step, "max_versions").unwrap_or(1) as u32,
            filter: step.get("filter").and_then(Value::as_str).map(|text| text.as_bytes().to_vec()),
            max_per_family: u64_of(step, "max_per_cf").map(|n| n as u32),
            offset_per_family: u64_of(step, "row_offset_per_cf").unwrap_or(0) as u32,
            raw: flag(step, "raw"),
            ..ReadSpec::default()
        })
    }

    /// A `get` step.
    pub fn get(&self, table: &TableName, step: &Value) -> Result<Get> {
        Ok(Get { table: table.clone(), row: bytes(&step["row"]), read: self.read(step)? })
    }

    /// A `scan` step.
    pub fn scan(&self, table: &TableName, step: &Value) -> Result<Scan> {
        let mut scan = Scan::all(table.clone());
        if let Some(prefix) = step.get("prefix") {
            scan = scan.with_prefix(&bytes(prefix));
        }
        let set = |name: &str, end: &mut Vec<u8>| {
            if let Some(row) = step.get(name) {
                *end = bytes(row);
            }
        };
        set("start", &mut scan.start);
        set("stop", &mut scan.stop);
        scan.start_inclusive = step.get("start_inclusive").and_then(Value::as_bool).unwrap_or(true);
        scan.stop_inclusive = flag(step, "stop_inclusive");
        scan.reversed = flag(step, "reversed");
        scan.limit = u64_of(step, "limit");
        scan.batch = u64_of(step, "batch").map(|n| n as u32);
        scan.read = self.read(step)?;
        Ok(scan)
    }

    /// The mutations of a step, of one row.
    pub fn mutations(&self, table: &TableName, step: &Value) -> Result<RowMutations> {
        let is_several = matches!(step["op"].as_str(), Some(op) if op == "mutate_row" || op.starts_with("check_and"));
        let mutations = if is_several {
            step["ops"].as_array().unwrap().iter().map(|op| self.mutation(op, step)).collect::<Result<_>>()?
        } else {
            vec![self.mutation(step, step)?]
        };
        let row = bytes(&step["row"]);
        Ok(RowMutations { table: table.clone(), row, mutations, durability: None, origin: Origin(0) })
    }

    /// The family of an operation, else that of the step it is in.
    fn family_in(&self, op: &Value, step: &Value) -> String {
        if op.get("family").is_some() { self.family(op) } else { self.family(step) }
    }

    fn mutation(&self, op: &Value, step: &Value) -> Result<Mutation> {
        match op["op"].as_str().unwrap() {
            "put" => Ok(Mutation::Put(vec![self.put(op, step)])),
            "delete" => Ok(Mutation::Delete(match op.get("ops").and_then(Value::as_array) {
                Some(markers) => markers.iter().map(|m| self.marker(m, op)).collect(),
                None => vec![self.marker(op, step)],
            })),
            "increment" => Ok(Mutation::Increment(Increment {
                columns: self.deltas(op, step, |cell| cell["amount"].as_i64().unwrap_or(1)),
                time: at(&op["ts"]),
                ttl_ms: u64_of(op, "ttl_ms"),
                file: Default::default(),
                time_range: range(op)?,
            })),
            "append" => Ok(Mutation::Append(Append {
                columns: self.deltas(op, step, |cell| bytes(&cell["value"])),
                time: at(&op["ts"]),
                ttl_ms: u64_of(op, "ttl_ms"),
                file: Default::default(),
                time_range: range(op)?,
                returns: true,
            })),
            other => panic!("no mutation: {other}"),
        }
    }

    fn put(&self, op: &Value, step: &Value) -> PutCell {
        let value = match op.get("value_long") {
            Some(long) => long.as_i64().unwrap().to_be_bytes().to_vec(),
            None => bytes(&op["value"]),
        };
        PutCell {
            family: self.family_in(op, step),
            qualifier: bytes(&op["qual"]),
            time: at(&op["ts"]),
            value: Bytes::Bytes(value),
            ttl_ms: u64_of(op, "cell_ttl_ms"),
            file: Default::default(),
            ended_at: None,
        }
    }

    fn marker(&self, op: &Value, step: &Value) -> DeleteMarker {
        let qualifier = bytes(&op["qual"]);
        let kind = match op["kind"].as_str().unwrap() {
            "row" => DeleteKind::Row,
            "family" => DeleteKind::Family { family: self.family_in(op, step) },
            "family_version" => DeleteKind::FamilyVersion { family: self.family_in(op, step) },
            "column" => DeleteKind::Column { family: self.family_in(op, step), qualifier },
            "version" => DeleteKind::Version { family: self.family_in(op, step), qualifier },
            other => panic!("no kind of delete: {other}"),
        };
        DeleteMarker { kind, time: at(&op["ts"]), erases: false }
    }

    fn deltas<T>(&self, op: &Value, step: &Value, delta: impl Fn(&Value) -> T) -> Vec<ColumnDelta<T>> {
        let cells = op.get("cells").and_then(Value::as_array).cloned().unwrap_or_else(|| vec![op.clone()]);
        let family =
            |cell: &Value| if cell.get("family").is_some() { self.family(cell) } else { self.family_in(op, step) };
        let one =
            |cell: &Value| ColumnDelta { family: family(cell), qualifier: bytes(&cell["qual"]), delta: delta(cell) };
        cells.iter().map(one).collect()
    }

    /// The condition of a `check_and_*` step.
    pub fn condition(&self, step: &Value) -> Result<Option<Condition>> {
        if step.get("check_qual").is_none() {
            return Ok(None);
        }
        Ok(Some(Condition::Column {
            family: self.family(step),
            qualifier: bytes(&step["check_qual"]),
            op: compare_op(step["compare"].as_str().unwrap_or("=")),
            value: step.get("check_value").filter(|v| !v.is_null()).map(bytes),
            time_range: range(step)?,
        }))
    }

    /// A cell of an answer as expectations spell it; values as hexadecimal digits.
    pub fn shown(&self, row: Option<&[u8]>, cell: &Cell) -> Vec<String> {
        let qualifier = String::from_utf8_lossy(&cell.qualifier);
        let column =
            if self.single.is_some() { qualifier.into_owned() } else { format!("{}:{qualifier}", cell.family) };
        let mut shown: Vec<String> = row.iter().map(|r| String::from_utf8_lossy(r).into_owned()).collect();
        shown.extend([column, cell.timestamp.to_string()]);
        match cell.kind {
            CellKind::Put => shown.push(hex::encode(&cell.value)),
            CellKind::Tombstone(kind) => shown.extend(["null".to_owned(), marker_name(kind).to_owned()]),
        }
        shown
    }
}

/// An expected cell in the form of [`Naming::shown`].
pub fn expected_cell(cell: &Value) -> Vec<String> {
    let parts = cell.as_array().unwrap();
    let time_at = parts.iter().position(Value::is_number).unwrap();
    let mut shown: Vec<String> = parts[..time_at].iter().map(text).collect();
    shown.push(parts[time_at].to_string());
    match &parts[time_at + 1] {
        Value::Null => shown.extend(["null".to_owned(), text(&parts[time_at + 2])]),
        value => shown.push(hex::encode(bytes(value))),
    }
    shown
}

fn marker_name(kind: Tombstone) -> &'static str {
    match kind {
        Tombstone::Version => "Delete",
        Tombstone::FamilyVersion => "DeleteFamilyVersion",
        Tombstone::Column => "DeleteColumn",
        Tombstone::Family => "DeleteFamily",
    }
}

/// HBase's exception for a kind of error.
pub fn exception(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::NoSuchFamily => "NoSuchColumnFamilyException",
        ErrorKind::FailedSanityCheck => "FailedSanityCheckException",
        ErrorKind::IllegalArgument => "IllegalArgumentException",
        ErrorKind::IncompatibleFilter => "IncompatibleFilterException",
        _ => "DoNotRetryIOException",
    }
}

/// Whether HBase's exception is the one that our kind of error stands for.
pub fn exception_matches(ours: &str, theirs: &str) -> bool {
    ours == theirs || ours == "IllegalArgumentException" && theirs == "IOException"
}
