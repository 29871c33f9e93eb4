//! What the pages of commands have besides their grammar.

/// What the page of a command has besides its grammar.
pub struct Beside {
    /// Words of the command, as in the name of its page: `cellfs-snapshot-create`.
    pub page: &'static str,
    /// Each what it is for, and the line.
    pub examples: &'static [(&'static str, &'static str)],
    /// Pages to read on, besides cellfs(1).
    pub see_also: &'static [&'static str],
}

/// What a page has.
pub(super) const fn beside(
    page: &'static str,
    examples: &'static [(&'static str, &'static str)],
    see_also: &'static [&'static str],
) -> Beside {
    Beside { page, examples, see_also }
}
