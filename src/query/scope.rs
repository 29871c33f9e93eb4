//! How much of an answer a filter has to see before it can judge a part of it: what may be asked by itself.

use super::filters::parse::Expression;

/// What a filter's judgement of a cell depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// On the cell and its row's key.
    Cell,
    /// On the other cells of its row.
    Row,
    /// On the rows before it.
    Rows,
}

/// See [`Scope`]; of a filter whose name is not known the widest.
pub fn scope(expression: &Expression) -> Scope {
    match expression {
        Expression::AnyOf(parts) | Expression::AllOf(parts) => parts.iter().map(scope).max().unwrap_or(Scope::Cell),
        // No `max` here: of a call to itself that ends in one, LLVM 22 takes the least value for that of every return.
        Expression::Skip(inner) => match scope(inner) {
            Scope::Cell => Scope::Row,
            wider => wider,
        },
        Expression::While(_) => Scope::Rows,
        Expression::Call { name, .. } => match name.as_str() {
            "ColumnPrefixFilter"
            | "ColumnRangeFilter"
            | "ColumnValueFilter"
            | "FamilyFilter"
            | "InclusiveStopFilter"
            | "KeyOnlyFilter"
            | "MultipleColumnPrefixFilter"
            | "PrefixFilter"
            | "QualifierFilter"
            | "RowFilter"
            | "TimestampsFilter"
            | "ValueFilter" => Scope::Cell,
            "ColumnPaginationFilter"
            | "DependentColumnFilter"
            | "FirstKeyOnlyFilter"
            | "SingleColumnValueExcludeFilter"
            | "SingleColumnValueFilter" => Scope::Row,
            _ => Scope::Rows,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::parse;

    #[test]
    fn the_widest_part_decides() {
        let of = |text: &str| scope(&parse(text.as_bytes()).unwrap());
        assert_eq!(of("ValueFilter(=, 'binary:x')"), Scope::Cell);
        assert_eq!(of("PrefixFilter('a') OR QualifierFilter(=, 'binary:x')"), Scope::Cell);
        assert_eq!(of("SKIP ValueFilter(=, 'binary:x')"), Scope::Row);
        assert_eq!(of("KeyOnlyFilter() AND FirstKeyOnlyFilter()"), Scope::Row);
        assert_eq!(of("KeyOnlyFilter() AND (FirstKeyOnlyFilter() OR PageFilter(3))"), Scope::Rows);
        assert_eq!(of("WHILE ValueFilter(=, 'binary:x')"), Scope::Rows);
        assert_eq!(of("ColumnCountGetFilter(3)"), Scope::Rows);
    }
}
