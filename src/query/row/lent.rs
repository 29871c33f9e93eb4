//! Rows whose cells are lent one by one to be judged: reads of the newest versions, with a filter or without.

use super::ask::{Shown, of_lent};
use super::{InFamily, Onward, RowQuery, Step};
use crate::Result;
use crate::model::{ColumnSlice, FamilySchema, ReadSpec, Tells};
use crate::query::collect::Taker;
use crate::query::filters::filter::Direction;
use crate::query::lent::LentCell;
use crate::visibility::{ReadRules, expiry_at};

impl RowQuery {
    /// Whether columns whose first cell [shows by itself](crate::visibility::shows_by_itself) may be lent.
    pub fn takes_lent(&self) -> bool {
        let ReadSpec { columns, max_versions, raw, slice, .. } = &self.read;
        let is_whole = columns.values().all(Option::is_none) && *slice == ColumnSlice::default();
        *max_versions == 1 && is_whole && !raw && self.direction == Direction::Forward
    }

    /// By which a column of a family shows its newest version, if its first cell tells.
    pub fn lent_rules<'f>(&self, at: usize, family: &'f FamilySchema) -> ReadRules<'f> {
        ReadRules { time_range: self.families[at].time_range, ..ReadRules::plain(&family.rules, self.now) }
    }

    /// Whether of a column of a family nothing is looked at but what it shows: a filter sees more in families that are not
    /// of new versions.
    pub fn sees_newest_alone(&self, at: usize) -> bool {
        let rules = &self.families[at].schema.rules;
        self.filter.is_none() || rules.new_version_behavior || rules.versions == 1
    }

    /// The longest value of a cell that may be lent in this row.
    pub fn longest_lent(&self) -> usize {
        self.answer.longest_lent()
    }

    /// Begins a family of the row; `None`: nothing is wanted of it.
    pub fn begin_family(&self, at: usize, row: &[u8]) -> Option<InFamily> {
        self.reads_family(at, row).then(|| self.enter_family(at))
    }

    /// Judges what a column shows; from where to read on.
    pub fn judge_lent(&mut self, part: &mut InFamily, cell: LentCell<'_>, taker: &mut Taker<'_, '_>) -> Result<Onward> {
        let Self { now, families, filter, answer, .. } = self;
        let family = &families[part.at].schema;
        part.found_cells = true;
        let (shown, onward) = match filter {
            Some(filter) => of_lent(filter.as_mut(), (&family.name, &cell), &mut part.next_row)?,
            None => (Shown::Whole, Onward::NextColumn),
        };
        let value = match shown {
            Shown::No => return Ok(onward),
            Shown::Whole => cell.value,
            Shown::KeyOnly => &[],
        };
        if part.cursor.takes_next() {
            let tells = answer.tells == Tells::Infos;
            let expires_at = if tells { expiry_at((cell.timestamp, None), &family.rules, *now) } else { None };
            answer.add_lent((part.at, &LentCell { value, ..cell }), expires_at, taker)?;
        }
        if part.cursor.is_full() {
            part.is_full = true;
            return Ok(Onward::NextRow);
        }
        Ok(onward)
    }

    /// The row is over.
    pub fn finish_lent(&mut self, taker: &mut Taker<'_, '_>) -> Result<Step> {
        if self.passes() {
            self.answer.finish(taker)?;
        }
        Ok(self.after_row())
    }
}
