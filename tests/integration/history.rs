//! Random histories of one table in the words of scenario files, from a seed.
//!
//! Left out is what HBase itself gets wrong or answers by its file layout:
//! * in new-version families the empty qualifier, time ranges, KEEP_DELETED_CELLS, MIN_VERSIONS with TTL,
//!   tombstones or several versions of a column in one batch (its tracker is keyed by sequence number alone);
//! * compactions of some files (empty ones count), raw scans where something expires;
//! * deletes of the empty column.

use serde_json::{Map, Value, json};

const START: i64 = 1_700_000_000_000;

/// A small generator of numbers that is the same everywhere (SplitMix64).
pub struct Dice(pub u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }
}

struct Family {
    name: &'static str,
    new_version: bool,
}

/// Draws steps.
pub struct History {
    dice: Dice,
    families: Vec<Family>,
    single: bool,
    expires: bool,
    now: i64,
    values: u32,
    /// Greatest time of a FamilyVersion tombstone in a new-version family.
    version_tombstone: i64,
}

impl History {
    /// A case with its table and steps, without expectations.
    pub fn draw(seed: u64) -> Value {
        let mut dice = Dice(seed);
        let count = if dice.one_in(4) { 2 } else { 1 };
        let declared: Vec<Value> = ["f", "g"][..count].iter().map(|name| family(&mut dice, name)).collect();
        let families = ["f", "g"][..count]
            .iter()
            .zip(&declared)
            .map(|(name, d)| Family { name, new_version: d["new_version_behavior"] == true })
            .collect();
        let expires = declared.iter().any(|d| !d["ttl_ms"].is_null());
        let single = count == 1;
        let mut history = Self { dice, families, single, expires, now: START, values: 0, version_tombstone: 0 };
        let length = 15 + history.dice.below(50);
        let mut steps = vec![json!({"op": "now", "ms": START})];
        steps.extend((0..length).map(|_| history.step()));
        steps.extend(history.last_looks());
        let table = if count == 1 { ("family", declared[0].clone()) } else { ("families", Value::Array(declared)) };
        let mut case = Map::from_iter([("id".to_owned(), json!(format!("history.{seed}")))]);
        case.insert(table.0.to_owned(), table.1);
        case.insert("steps".to_owned(), Value::Array(steps));
        Value::Object(case)
    }

    fn last_looks(&mut self) -> Vec<Value> {
        let mut looks = vec![json!({"op": "scan", "start": "", "stop": "", "max_versions": i32::MAX})];
        if !self.expires {
            looks.push(json!({"op": "scan", "start": "", "stop": "", "max_versions": i32::MAX, "raw": true}));
        }
        looks
    }

    fn step(&mut self) -> Value {
        match self.dice.below(100) {
            0..30 => self.put(),
            30..44 => self.delete(),
            44..48 => self.counter("increment"),
            48..51 => self.counter("append"),
            51..55 => self.mutate_row(),
            55..59 => self.check(),
            59..64 => self.advance(),
            64..69 => json!({"op": "flush"}),
            69..72 => json!({"op": "major_compact"}),
            72..86 => self.get(),
            _ => self.scan(),
        }
    }

    fn is_new_version(&self) -> bool {
        self.families.iter().any(|f| f.new_version)
    }

    fn advance(&mut self) -> Value {
        self.now += *self.dice.pick(&[1, 1, 2, 3, 5]);
        json!({"op": "now", "ms": self.now})
    }

    fn row(&mut self) -> &'static str {
        self.dice.pick::<&'static str>(&["r1", "r1", "r1", "r2", "r3"])
    }

    fn ts(&mut self) -> Value {
        if self.dice.one_in(3) { Value::Null } else { json!(self.now - 5 + self.dice.below(9) as i64) }
    }

    fn family(&mut self) -> usize {
        self.dice.below(self.families.len() as u64) as usize
    }

    fn name_family(&self, step: &mut Value, family: usize) {
        if !self.single {
            step["family"] = json!(self.families[family].name);
        }
    }

    fn value(&mut self) -> String {
        self.values += 1;
        match self.dice.below(5) {
            0 => "x".to_owned(),
            1 => String::new(),
            2 => (*self.dice.pick(&["x\n", "v3\r\n", "v3\n\n", "\n", "v1\u{2028}", "x\r"])).to_owned(),
            _ => format!("v{}", self.values),
        }
    }

    fn put(&mut self) -> Value {
        let family = self.family();
        let empty = !self.families[family].new_version && self.dice.one_in(12);
        let qual = if empty { "" } else { *self.dice.pick(&["a", "a", "ab", "b", "c"]) };
        let ts = self.ts();
        let mut step = json!({"op": "put", "row": self.row(), "qual": qual, "ts": ts, "value": self.value()});
        if self.expires && self.dice.one_in(8) {
            step["cell_ttl_ms"] = json!(1 + self.dice.below(6));
        }
        self.name_family(&mut step, family);
        step
    }

    fn delete(&mut self) -> Value {
        let row = self.row();
        if self.dice.one_in(12) {
            let ts = self.ts();
            let ts = self.after_version_tombstones(ts);
            return json!({"op": "delete", "kind": "row", "row": row, "ts": ts});
        }
        let family = self.family();
        let kind = *self.dice.pick(&["version", "version", "column", "column", "family", "family_version"]);
        let mut ts = self.ts();
        if kind == "family_version" && ts.is_null() {
            ts = json!(self.now);
        }
        if self.families[family].new_version && kind == "family_version" {
            self.version_tombstone = self.version_tombstone.max(ts.as_i64().unwrap_or(self.now));
        }
        if self.families[family].new_version && kind == "family" {
            ts = self.after_version_tombstones(ts);
        }
        let mut step = json!({"op": "delete", "kind": kind, "row": row, "ts": ts});
        if matches!(kind, "version" | "column") {
            step["qual"] = json!(*self.dice.pick(&["a", "a", "ab", "b", "c"]));
        }
        self.name_family(&mut step, family);
        step
    }

    /// HBase files a FamilyVersion tombstone under the Family tombstones that sort before it
    /// (NewVersionBehaviorTracker.add): one that sorts behind, though written later, still counts the puts
    /// that it ended. The answer then depends on compaction, so histories leave it out.
    fn after_version_tombstones(&self, ts: Value) -> Value {
        let time = ts.as_i64().unwrap_or(self.now);
        if time < self.version_tombstone { json!(self.version_tombstone) } else { ts }
    }

    fn counter(&mut self, op: &str) -> Value {
        let family = self.family();
        let mut step = json!({"op": op, "row": self.row()});
        if op == "increment" {
            step["qual"] = json!("n");
            step["amount"] = json!(*self.dice.pick(&[1, 5, -3]));
        } else {
            step["qual"] = json!(*self.dice.pick(&["a", "b"]));
            step["value"] = json!(self.value());
        }
        self.name_family(&mut step, family);
        step
    }

    fn mutate_row(&mut self) -> Value {
        let row = self.row();
        let count = 2 + self.dice.below(2);
        let mut ops: Vec<Value> = Vec::new();
        for _ in 0..count {
            let op = if !self.is_new_version() && self.dice.one_in(2) { self.delete() } else { self.put() };
            let same_column = |other: &Value| other["qual"] == op["qual"] && other["family"] == op["family"];
            if !self.is_new_version() || !ops.iter().any(same_column) {
                ops.push(op);
            }
        }
        let without_row = |mut op: Value| {
            op.as_object_mut().unwrap().remove("row");
            op
        };
        json!({"op": "mutate_row", "row": row, "ops": ops.into_iter().map(without_row).collect::<Vec<_>>()})
    }

    fn check(&mut self) -> Value {
        let mut put = self.put();
        put.as_object_mut().unwrap().remove("row");
        let value = if self.dice.one_in(3) { Value::Null } else { json!(self.value()) };
        let compare = *self.dice.pick(&["=", "!=", "<", "<=", ">", ">="]);
        let mut step = json!({"op": "check_and_put", "row": self.row(), "check_qual": "a", "compare": compare,
            "check_value": value, "ops": [put]});
        let family = self.family();
        self.name_family(&mut step, family);
        step
    }

    fn get(&mut self) -> Value {
        let mut step = json!({"op": "get", "row": self.row()});
        self.look(&mut step);
        step
    }

    fn scan(&mut self) -> Value {
        let (start, stop) = *self.dice.pick(&[("", ""), ("", ""), ("r1", "r3"), ("r2", ""), ("", "r2")]);
        let mut step = json!({"op": "scan", "start": start, "stop": stop});
        if !self.expires && self.dice.one_in(5) {
            step["raw"] = json!(true);
        }
        if self.dice.one_in(6) {
            step["reversed"] = json!(true);
            (step["start"], step["stop"]) = (json!(stop), json!(start));
        }
        if self.dice.one_in(8) {
            step["limit"] = json!(1 + self.dice.below(2));
        }
        self.look(&mut step);
        if step.get("filter").is_none() && self.dice.one_in(8) {
            step["batch"] = json!(1 + self.dice.below(3));
        }
        step
    }

    fn look(&mut self, step: &mut Value) {
        step["max_versions"] = json!(*self.dice.pick(&[1, 1, 2, 3, i32::MAX]));
        if !self.is_new_version() && self.dice.one_in(4) {
            let from = self.now - 5 + self.dice.below(6) as i64;
            step["time_range"] = json!([if self.dice.one_in(2) { 0 } else { from }, from + self.dice.below(5) as i64]);
        }
        if step.get("raw").is_none() && self.dice.one_in(4) {
            step["columns"] = self.columns();
        }
        if self.dice.one_in(4) {
            let filter = self.filter(2);
            // HBase may ask a filter about the scan's start as if it were a row (StoreFileScanner.requestSeek,
            // with named columns, by what its files' Bloom filters say); WHILE ends there.
            if !(step["op"] == "scan" && step.get("columns").is_some() && filter.contains("WHILE")) {
                step["filter"] = json!(filter);
            }
        }
        if self.dice.one_in(10) {
            step["max_per_cf"] = json!(1 + self.dice.below(3));
            step["row_offset_per_cf"] = json!(self.dice.below(2));
        }
    }

    fn columns(&mut self) -> Value {
        let count = 1 + self.dice.below(2);
        let name = |h: &mut Self| {
            let qualifier = *h.dice.pick(&["a", "ab", "b", "n"]);
            let family = h.family();
            if h.single { qualifier.to_owned() } else { format!("{}:{qualifier}", h.families[family].name) }
        };
        json!((0..count).map(|_| name(self)).collect::<Vec<_>>())
    }

    fn filter(&mut self, depth: u32) -> String {
        if depth > 0 && self.dice.one_in(2) {
            let (a, b) = (self.filter(depth - 1), self.filter(depth - 1));
            return match self.dice.below(6) {
                0 => format!("SKIP ({a})"),
                1 => format!("WHILE ({a})"),
                2 | 3 => format!("({a}) AND ({b})"),
                _ => format!("({a}) OR ({b})"),
            };
        }
        self.simple_filter()
    }

    fn simple_filter(&mut self) -> String {
        let n = self.dice.below(3) + 1;
        let op = *self.dice.pick(&["=", "!=", "<", ">="]);
        let column = *self.dice.pick(&["'f','a'", "'f','b'"]);
        let value = *self.dice.pick(&["binary:x", "binaryprefix:v", "binary:v3"]);
        if self.dice.one_in(8) {
            // Equality alone: that is all that these comparators know.
            let op = *self.dice.pick(&["=", "!="]);
            let pattern = *self.dice.pick(&["x$", "^v", "v\\d$", "v[1-4]\\Z", "^$", "(.)\\1", "\\Qx\\E", "v\\w"]);
            return match self.dice.below(3) {
                0 => format!("RowFilter ({op},'binaryprefix:r{n}')"),
                1 => format!("QualifierFilter ({op},'regexstring:^[ab]$')"),
                _ => format!("ValueFilter ({op},'regexstring:{pattern}')"),
            };
        }
        match self.dice.below(19) {
            0 => "KeyOnlyFilter ()".into(),
            1 => "FirstKeyOnlyFilter ()".into(),
            2 => format!("PrefixFilter ('r{n}')"),
            3 => "ColumnPrefixFilter ('a')".into(),
            4 => "MultipleColumnPrefixFilter ('ab','c')".into(),
            5 => format!("ColumnCountGetFilter ({n})"),
            6 => format!("PageFilter ({n})"),
            7 => format!("ColumnPaginationFilter ({n},{})", n - 1),
            8 => format!("InclusiveStopFilter ('r{n}')"),
            9 => format!("TimestampsFilter ({},{})", self.now - 1, self.now),
            10 => format!("RowFilter ({op},'binary:r{n}')"),
            11 => format!("FamilyFilter ({op},'binary:f')"),
            12 => format!("QualifierFilter ({op},'binary:ab')"),
            13 => format!("ValueFilter ({op},'{value}')"),
            14 => "ColumnRangeFilter ('a',false,'b',true)".into(),
            15 => format!("SingleColumnValueFilter ({column},{op},'{value}',{},{})", n == 1, n != 2),
            16 => format!("SingleColumnValueExcludeFilter ({column},{op},'{value}')"),
            17 => format!("DependentColumnFilter ({column},{})", n == 1),
            _ => format!("ColumnValueFilter ({column},{op},'{value}')"),
        }
    }
}

fn family(dice: &mut Dice, name: &str) -> Value {
    let new_version = dice.one_in(3);
    let versions = *dice.pick(&[1, 2, 3, 3, i32::MAX]);
    let ttl = if dice.one_in(4) { json!(4 + dice.below(5)) } else { Value::Null };
    let holds_expired = dice.one_in(3) && (ttl.is_null() || !new_version);
    let min_versions = if holds_expired { dice.below(3).min(versions as u64) } else { 0 };
    let keep = if new_version { "FALSE" } else { *dice.pick(&["FALSE", "FALSE", "TRUE", "TTL"]) };
    json!({"name": name, "versions": versions, "min_versions": min_versions, "ttl_ms": ttl, "keep_deleted": keep,
        "new_version_behavior": new_version})
}
