//! Prometheus' text format (version 0.0.4): one HELP and TYPE a metric, counters end in `_total`, times are seconds.

use std::fmt::Write;

use super::counted::{Known, Mounted, Stats};
use crate::fs::OperationNumbers;

/// The whole exposition.
pub fn text(stats: &Stats) -> String {
    let mut page = Page { text: String::new(), store: stats.directory.clone() };
    match stats.known {
        Known::All => page.store(stats),
        Known::Files => {
            page.cluster(true);
            page.files(stats);
        }
        Known::Nothing => page.cluster(false),
    }
    page.one("cellfs_mounted", "gauge", "Whether a daemon serves the store.", u8::from(stats.mounted.is_some()));
    if let Some(mounted) = &stats.mounted {
        page.daemon(mounted);
    }
    page.text
}

struct Page {
    text: String,
    /// The directory: a label of every sample, as one scraper may see many stores.
    store: String,
}

/// `\`, `"` and line feeds of a label's value.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string cannot fail.
        let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn one(&mut self, name: &str, kind: &str, help: &str, value: impl std::fmt::Display) {
        self.head(name, kind, help);
        self.sample(name, &[], value);
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        let all = [("store", self.store.as_str())].into_iter().chain(labels.iter().copied());
        let labels: Vec<String> = all.map(|(key, value)| format!("{key}=\"{}\"", escaped(value))).collect();
        let _ = writeln!(self.text, "{name}{{{}}} {value}", labels.join(","));
    }

    /// One metric with a value for each value of a label.
    fn each(&mut self, (name, kind, help): (&str, &str, &str), label: &str, values: &[(&str, u64)]) {
        self.head(name, kind, help);
        for (value, number) in values {
            self.sample(name, &[(label, value)], number);
        }
    }

    fn cluster(&mut self, answers: bool) {
        self.one("cellfs_cluster_answers", "gauge", "Whether the cluster's master answers.", u8::from(answers));
    }

    /// What a cluster tells.
    fn files(&mut self, stats: &Stats) {
        let status = &stats.status;
        self.one("cellfs_segments", "gauge", "Files of the cluster's stores.", status.segments);
        self.each(("cellfs_segment_bytes", "gauge", "Bytes of these."), "state", &[("all", status.segment_bytes)]);
        self.one("cellfs_memtable_bytes", "gauge", "Memory of what is in no file yet.", status.memtable_bytes);
    }

    fn store(&mut self, stats: &Stats) {
        let status = &stats.status;
        let dead = status.segment_bytes.saturating_sub(status.live_bytes);
        self.one("cellfs_cells", "gauge", "Cells in the store, tombstones included.", status.cells);
        self.one("cellfs_segments", "gauge", "Segment files.", status.segments);
        let bytes = (
            "cellfs_segment_bytes",
            "gauge",
            "Bytes of segments, large values and the log: keys and values that count, and the rest.",
        );
        self.each(bytes, "state", &[("live", status.live_bytes), ("dead", dead)]);
        self.one("cellfs_memtable_cells", "gauge", "Cells that are in no segment yet.", status.memtable_cells);
        self.one("cellfs_memtable_bytes", "gauge", "Memory that these take.", status.memtable_bytes);
        let sequence = ("cellfs_sequence_number", "gauge", "Last sequence number at each stage.");
        let stages = [("written", status.last_seq), ("synced", status.synced_seq), ("flushed", status.checkpoint_seq)];
        self.each(sequence, "stage", &stages);
        self.one("cellfs_flushes_total", "counter", "Flushes of the memtable.", status.flushes);
        self.one("cellfs_compactions_total", "counter", "Compactions of families.", status.compactions);
        let progress = status.compaction.as_ref().map_or(0, |compaction| compaction.percent);
        let running = u8::from(status.compaction.is_some());
        self.one("cellfs_compaction_running", "gauge", "Whether a compaction is under way.", running);
        let ratio = f64::from(progress) / 100.0;
        self.one("cellfs_compaction_progress_ratio", "gauge", "How far it is, 0 to 1.", ratio);
        let help = "Segments deleted since the store was opened because all in them had expired.";
        self.one("cellfs_expired_segments_total", "counter", help, status.expired_segments);
        let help = "Whether a failed sync keeps the store from acknowledging anything.";
        self.one("cellfs_poisoned", "gauge", help, u8::from(status.poisoned.is_some()));
        let help = "Cells that reads have looked at since the store was opened.";
        self.one("cellfs_cells_read_total", "counter", help, status.cells_read);
        let help = "Reads that met damage since the store was opened.";
        self.one("cellfs_damaged_reads_total", "counter", help, status.damaged_reads);
        let help = "Whether background work has failed since the store was opened.";
        self.one("cellfs_background_failed", "gauge", help, u8::from(status.last_error.is_some()));
        let disk = ("cellfs_disk_bytes", "gauge", "Bytes of the filesystem under the store.");
        let states =
            [("total", status.disk_total), ("available", status.disk_available), ("writable", status.disk_writable)];
        self.each(disk, "state", &states);
    }

    fn daemon(&mut self, mounted: &Mounted) {
        let Mounted { mount_point, version, numbers, .. } = mounted;
        self.head("cellfs_build_info", "gauge", "The release that serves the mount.");
        self.sample("cellfs_build_info", &[("version", version), ("mount_point", mount_point)], 1);
        let started = numbers.started_at as f64 / 1e3;
        self.one("cellfs_daemon_start_time_seconds", "gauge", "When the daemon began to serve, since 1970.", started);
        self.one("cellfs_daemon_resident_memory_bytes", "gauge", "Memory of the daemon.", numbers.resident_bytes);
        self.one("cellfs_nodes", "gauge", "Nodes that the kernel holds.", numbers.mount.nodes);
        self.one("cellfs_open_handles", "gauge", "Open files and directories.", numbers.mount.handles);
        self.one("cellfs_refusals_total", "counter", "Refusals told in .info/errors.", numbers.mount.refusals);
        self.requests(&numbers.mount.operations);
        let commands: Vec<(&str, u64)> = numbers.commands.iter().map(|(name, count)| (name.as_str(), *count)).collect();
        let control = ("cellfs_control_requests_total", "counter", "Requests over the control socket.");
        self.each(control, "command", &commands);
    }

    fn requests(&mut self, operations: &[OperationNumbers]) {
        let of = |value: fn(&OperationNumbers) -> u64| {
            operations.iter().map(|o| (o.name.as_str(), value(o))).collect::<Vec<_>>()
        };
        let requests = ("cellfs_fuse_requests_total", "counter", "Requests of the kernel.");
        self.each(requests, "operation", &of(|o| o.count));
        let failures = ("cellfs_fuse_request_failures_total", "counter", "Requests that were answered with an errno.");
        self.each(failures, "operation", &of(|o| o.failed));
        let name = "cellfs_fuse_request_duration_seconds";
        self.head(name, "summary", "Time from a request to its answer, since the mount.");
        for operation in operations {
            let label = ("operation", operation.name.as_str());
            for (quantile, nanos) in &operation.quantiles {
                self.sample(name, &[label, ("quantile", &quantile.to_string())], seconds(*nanos));
            }
            self.sample(&format!("{name}_sum"), &[label], seconds(operation.total_nanos));
            self.sample(&format!("{name}_count"), &[label], operation.count);
        }
    }
}
