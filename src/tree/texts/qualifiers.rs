//! `.info/qualifiers`: a line for each. Where a family has too many to be counted beforehand, the lines are made while the
//! file is read, in pages.

use std::fmt::Write;

use crate::Result;
use crate::backend::{Backend, COLUMNS_PAGE, ColumnNumbers, ColumnsPage, FamilyColumns};
use crate::model::TableName;
use crate::tree::names::escape::{Level, shown};

const NAMES: &str = "column\tcells\tbytes\toldest\tnewest\n";

/// Takes bytes; false: nothing more is wanted.
type Give<'g> = &'g dyn Fn(&[u8]) -> bool;

/// Whether they are made while the file is read.
pub fn are_made_as_read(backend: &dyn Backend, table: &TableName) -> Result<bool> {
    Ok(backend.table_columns(table)?.iter().any(|family| family.columns.is_none()))
}

/// All of them; nothing where they are made as the file is read.
pub(in crate::tree) fn text(backend: &dyn Backend, table: &TableName) -> Result<String> {
    let families = backend.table_columns(table)?;
    let mut content = NAMES.to_owned();
    for FamilyColumns { family, columns } in &families {
        let Some(columns) = columns else { return Ok(String::new()) };
        content.push_str(&lines(family, columns));
    }
    Ok(content)
}

/// Makes them, a page at a time.
pub fn make(backend: &dyn Backend, table: &TableName, give: Give<'_>) -> Result<()> {
    let mut is_wanted = give(NAMES.as_bytes());
    for FamilyColumns { family, columns } in backend.table_columns(table)? {
        if let Some(columns) = columns {
            is_wanted = is_wanted && give(lines(&family, &columns).as_bytes());
            continue;
        }
        let mut page = ColumnsPage { table: table.clone(), family, after: None, limit: COLUMNS_PAGE };
        while is_wanted {
            let columns = backend.columns_page(&page)?;
            is_wanted = give(lines(&page.family, &columns).as_bytes());
            match columns.last() {
                Some(last) if columns.len() == page.limit => page.after = Some(last.qualifier.clone()),
                _ => break,
            }
        }
    }
    Ok(())
}

fn lines(family: &str, columns: &[ColumnNumbers]) -> String {
    let (name, mut content) = (shown(Level::Family, family.as_bytes()), String::new());
    for ColumnNumbers { qualifier, cells, bytes, oldest, newest } in columns {
        let qualifier = shown(Level::Qualifier, qualifier);
        let _ = writeln!(content, "{name}:{qualifier}\t{cells}\t{bytes}\t{oldest}\t{newest}");
    }
    content
}
