//! The messages of HBase's protocol that are used here, field numbers as in HBase's own `.proto` files.
//!
//! Written by hand: what is not read or sent is left out, and fields that are not known are skipped by the decoder.

pub mod admin;
pub mod data;
pub mod filter;
pub mod rpc;
pub mod schema;
