//! Opening the files that take a stream.

use std::sync::Arc;

use crate::Result;
use crate::bulk::{Empty, Format, Import, Plan, Position, import_mtime, import_time};
use crate::fs::base::Fs;
use crate::fs::bytes::held_text::HeldText;
use crate::fs::handles::intake::{Intake, LINE_MAX};
use crate::fs::handles::table::{Handle, Opened, TextHandle};
use crate::fs::nodes::node::Node;
use crate::model::TableName;

pub fn open_intake(fs: &Fs, node: Arc<Node>, table: &TableName, (format, empty): (Format, Empty)) -> Result<Opened> {
    let intake = Intake::new(|| {
        let backend = Arc::clone(&fs.tree.backend);
        let time = import_time(backend.as_ref(), table)?;
        let plan = Plan {
            table: table.clone(),
            format,
            columns: None,
            empty,
            time,
            mtime: import_mtime(backend.as_ref(), time),
            recipe: None,
            record_max: LINE_MAX,
            from: Position::default(),
        };
        Import::new(backend, plan)
    })?;
    let text = TextHandle { takes: Some(intake), ..TextHandle::new(node, HeldText::default(), None) };
    let handle = fs.handles.add(Handle::Text(Arc::new(text)))?;
    Ok(Opened { handle, keep_cache: false, no_flush: false, direct: true })
}
