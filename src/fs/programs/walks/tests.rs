use std::sync::Arc;

use super::*;
use crate::tree::asking::question::{Kind, Question, Says, Step};
use crate::tree::place::{FamilyPlace, NodeKey, Place};

fn step(text: &str) -> Step {
    Step { kind: Kind::Prefix, text: text.into(), says: Says::Key(text.into()) }
}

fn table() -> TableName {
    TableName::parse("t").unwrap()
}

/// Where a scan path of such steps leads.
fn dir(steps: &str) -> AskedDir {
    let question = Question { rows: steps.split('/').map(step).collect(), ..Question::default() };
    let place = Place::Table(Arc::new(table()));
    AskedDir::of(&NodeKey::plain(place.clone()).asked(question, place)).unwrap()
}

/// The first process of a group.
fn leader(group: u32, now: i64) -> Who {
    Who { group, pid: group, now: Timestamp(now) }
}

fn look_of(walks: &Walks, text: &str, who: Who) -> i64 {
    look_at((walks, true), text, who)
}

/// Where changes are told, or are not.
fn look_at((walks, is_told): (&Walks, bool), text: &str, who: Who) -> i64 {
    let fresh = || Ok(Fresh { moment: Timestamp(who.now.0 - 1), is_told });
    walks.moment((&dir(text), None), who, |_| false, fresh).unwrap().0
}

fn look(walks: &Walks, text: &str, group: u32, now: i64) -> i64 {
    look_of(walks, text, leader(group, now))
}

fn list(walks: &Walks, text: &str, group: u32, (moment, now): (i64, i64)) -> bool {
    walks.list((&dir(text), Timestamp(moment)), leader(group, now))
}

#[test]
fn who_walks_goes_on_beside_writers_of_its_group_and_the_next_one_sees_them() {
    for writer in [Some(Who { pid: 7, ..leader(1, 1100) }), None] {
        let walks = Walks::default();
        let moment = look(&walks, "a", 1, 1000);
        assert!(list(&walks, "a", 1, (moment, 1001)));
        walks.changed(&table(), writer);
        assert_eq!(look(&walks, "a", 1, 1200), moment, "{:?}", writer.map(|who| who.pid));
        assert_eq!(look_of(&walks, "a", Who { pid: 8, ..leader(1, 1300) }), 1299);
        assert_eq!(look(&walks, "a", 1, 1400), moment);
        walks.changed(&table(), Some(leader(1, 1500)));
        assert_eq!(look(&walks, "a", 1, 1600), 1599, "it has written itself");
    }
}

#[test]
fn what_nobody_tells_of_is_seen_by_who_does_not_walk() {
    let walks = Walks::default();
    let look = |pid, now| look_at((&walks, false), "a", leader(pid, now));
    assert_eq!(look(1, 1000), 999);
    assert_eq!(look(1, 1200), 1199);
    assert!(list(&walks, "a", 1, (1199, 1201)));
    assert_eq!((look(1, 3000), look(2, 3000)), (1199, 2999), "who walks goes on");
    assert!(!list(&walks, "a", 1, (1199, 3001)), "there may be more to see");
    assert_eq!(look(1, 3002), 3001);
}

#[test]
fn who_has_come_to_a_directory_walks_although_its_group_has_written_since() {
    let other = Who { pid: 7, ..leader(1, 1001) };
    let walks = Walks::default();
    let moment = look(&walks, "a", 1, 1000);
    walks.changed(&table(), Some(other));
    assert!(list(&walks, "a", 1, (moment, 1002)));
    walks.changed(&table(), Some(other));
    assert_eq!(look(&walks, "a", 1, 1200), moment, "it has begun");
    assert_eq!(look_of(&walks, "a", Who { now: Timestamp(1300), ..other }), 1299, "for that process alone");

    let walks = Walks::default();
    assert_eq!(look(&walks, "a", 1, 1000), 999);
    walks.changed(&table(), Some(other));
    assert_eq!(look(&walks, "a", 1, 1003), 1002, "who does not list sees what a child has written");
    let moment = look(&walks, "a", 1, 1004);
    walks.changed(&table(), Some(leader(1, 1005)));
    assert!(list(&walks, "a", 1, (moment, 1006)));
    assert_eq!(look(&walks, "a", 1, 1007), 1006, "it has written itself");
}

#[test]
fn who_stays_in_a_directory_holds_no_walk_for_others() {
    let walks = Walks::default();
    let moment = look(&walks, "a", 1, 1000);
    assert!(list(&walks, "a", 1, (moment, 1001)));
    walks.changed(&table(), None);
    // A shell lists where it is, after somebody has written.
    assert!(list(&walks, "a", 1, (moment, 4000)));
    assert_eq!(look(&walks, "a", 1, 4001), 4000);
    // A program that goes there and lists `.` is told to look again, and cannot: the next one sees the present.
    assert!(list(&walks, "a", 1, (4000, 4002)));
    walks.changed(&table(), Some(leader(2, 0)));
    assert_eq!(look(&walks, "a", 1, 5000), 4000);
    assert!(!list(&walks, "a", 1, (4000, 5001)) && list(&walks, "a", 1, (4000, 5001)));
    assert_eq!(look(&walks, "a", 1, 5500), 5499);
}

#[test]
fn a_walk_that_was_told_to_look_again_a_moment_ago_goes_on_as_it_is() {
    let walks = Walks::default();
    let mut moment = look(&walks, "a", 1, 1000);
    assert!(list(&walks, "a", 1, (moment, 1001)));
    walks.changed(&table(), Some(leader(2, 0)));
    assert!(!list(&walks, "a", 1, (moment, 1002)));
    moment = look(&walks, "a", 1, 1003);
    assert!(list(&walks, "a", 1, (moment, 1004)));
    walks.changed(&table(), Some(leader(2, 0)));
    assert!(list(&walks, "a", 1, (moment, 1005)), "told a moment ago");
    assert_eq!(look(&walks, "a", 1, 1006), moment, "what is below is of the same moment");
}

#[test]
fn a_walk_keeps_its_moment_until_it_pauses_lists_again_or_writes() {
    let walks = Walks::default();
    let moment = look(&walks, "a", 1, 1000);
    assert_eq!((moment, look(&walks, "b", 2, 1500)), (999, 999), "nothing has changed");
    assert!(list(&walks, "a", 1, (moment, 1500)));
    walks.changed(&table(), Some(leader(2, 0)));
    assert_eq!(look(&walks, "a", 1, 3000), moment, "others write");
    assert_eq!(look(&walks, "a", 2, 3000), 2999, "who does not walk sees the present");
    assert_eq!(look(&walks, "a", 1, 4900), moment);
    assert!(!list(&walks, "a", 1, (moment, 4950)), "listed again: the walk is over");
    assert!(list(&walks, "a", 1, (moment, 4960)) && list(&walks, "a", 1, (moment, 4970)), "it is told once");
    walks.changed(&table(), Some(leader(2, 0)));
    assert_eq!(look(&walks, "a", 1, 5000), 4999);
    assert!(list(&walks, "a", 1, (4999, 5001)));
    walks.changed(&table(), Some(leader(1, 0)));
    assert_eq!(look(&walks, "a", 1, 5002), 5001, "it has written");
    assert!(list(&walks, "a", 1, (5001, 5003)));
    walks.changed(&table(), Some(leader(2, 0)));
    assert_eq!(look(&walks, "a", 1, 5003 + PAUSE_MS), 5002 + PAUSE_MS, "it has paused");
}

/// The path up to a directory, step by step.
fn go(walks: &Walks, path: &str, now: i64) -> i64 {
    let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
    let fresh = || Ok(Fresh { moment: Timestamp(now - 1), is_told: true });
    let step =
        |inherited, end| Some(walks.moment((&dir(&path[..end]), inherited), leader(1, now), |_| false, fresh).unwrap());
    ends.fold(None, step).unwrap().0
}

#[test]
fn a_walk_is_what_is_below_where_it_began() {
    let walks = Walks::default();
    let moment = go(&walks, "by/a", 1000);
    assert!(list(&walks, "by/a", 1, (moment, 1001)));
    for (at, asked) in (1..20).map(|n| (1000 + n * 500, format!("by/b{n}"))) {
        walks.changed(&table(), Some(leader(2, 0)));
        // Each is another question, and so is what leads to all of them.
        assert_eq!(go(&walks, &asked, at), at - 1, "{asked}");
        assert!(list(&walks, &asked, 1, (at - 1, at)));
        walks.changed(&table(), Some(leader(2, 0)));
        assert_eq!(go(&walks, "by", at + 200), at + 199);
        assert_eq!(go(&walks, "by/a", at), moment, "looked at once in half a second");
        assert_eq!(go(&walks, "by/a/first", at), moment);
        assert_eq!(go(&walks, &asked, at + 201), at - 1);
    }
    walks.changed(&table(), Some(leader(2, 0)));
    assert_eq!(go(&walks, "by/a", 20_000), 19_999, "it has paused");
}

#[test]
fn of_two_walks_a_process_goes_on_with_its_own() {
    let walks = Walks::default();
    let within = go(&walks, "by/a", 1000);
    assert!(list(&walks, "by/a", 1, (within, 1001)));
    walks.changed(&table(), Some(leader(2, 0)));
    let other = |now| Who { pid: 7, ..leader(1, now) };
    let above = look_of(&walks, "by", other(1200));
    assert_eq!(above, 1199);
    assert!(walks.list((&dir("by"), Timestamp(above)), other(1201)));
    walks.changed(&table(), Some(leader(2, 0)));
    assert_eq!(go(&walks, "by/a", 1300), within);
    let fresh = || Ok(Fresh { moment: Timestamp(0), is_told: true });
    let below = walks.moment((&dir("by/a"), Some(Timestamp(above))), other(1301), |_| false, fresh).unwrap();
    assert_eq!(below.0, above);
}

#[test]
fn steps_in_families_are_of_their_row() {
    let key = |row: &str, rows: &[&str], cells: &[&str]| {
        let steps = |all: &[&str]| all.iter().map(|text| step(text)).collect();
        let question = Question { rows: steps(rows), cells: steps(cells), ..Question::default() };
        let family = FamilyPlace { table: table(), row: row.into(), family: "f".into() };
        let place = if cells.is_empty() { Place::Table(Arc::new(table())) } else { Place::Family(Arc::new(family)) };
        AskedDir::of(&NodeKey::plain(place.clone()).asked(question, place)).unwrap()
    };
    let root = key("r", &["p"], &["a"]);
    assert!(root.is_within(&root) && root.is_within(&key("", &["p"], &[])));
    assert!(key("r", &["p"], &["a", "b"]).is_within(&root));
    for other in [key("s", &["p"], &["a"]), key("r", &["p"], &[]), key("r", &["p", "q"], &["a"]), key("r", &[], &["a"])]
    {
        assert!(!other.is_within(&root), "{other:?}");
    }
}

#[test]
fn who_walks_goes_on_beside_any_number_of_questions() {
    let walks = Walks::default();
    let moment = go(&walks, "by/all", 1000);
    assert!(list(&walks, "by/all", 1, (moment, 1001)));
    for n in 0..3 * WALKS as i64 {
        walks.changed(&table(), Some(leader(2, 0)));
        let (asked, now) = (format!("by/{n}"), 1002 + n);
        assert!(list(&walks, &asked, 1, (go(&walks, &asked, now), now)));
        assert_eq!(go(&walks, "by/all", now), moment, "{n}");
    }
    assert_eq!(walks.state.lock().walks.len(), WALKS);
}
