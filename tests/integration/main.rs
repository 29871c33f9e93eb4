//! The one integration test binary; one module a subject.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_types)]

mod bulk;
mod case;
mod cluster;
mod commands;
mod differential;
mod embedded;
mod examples;
mod format;
mod hbase;
mod help;
mod history;
mod mount;
mod packaging;
mod papers;
mod posix;
mod reference;
mod scenarios;
mod served;
mod shell;
mod spelling;
mod subject;
mod tidy;
mod torture;
mod trust;
