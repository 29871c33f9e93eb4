//! Which file of the program imports which: by `use` and by paths that begin with `crate`, `self` or `super`. What a
//! `mod.rs` says of its own children begins with none of these, and is not seen: it only shows what is below.

use std::collections::{BTreeMap, BTreeSet};

use super::sources;

/// The path of a file's module.
fn module(name: &str) -> Vec<String> {
    let path = name.trim_end_matches(".rs").trim_end_matches("/mod");
    if path == "lib" || path == "main" { Vec::new() } else { path.split('/').map(str::to_owned).collect() }
}

/// All pairs of a file, and one that it imports.
pub fn all() -> Vec<(String, String)> {
    let sources = sources();
    let files: BTreeMap<Vec<String>, &String> = sources.keys().map(|name| (module(name), name)).collect();
    let mut found = BTreeSet::new();
    for (name, text) in &sources {
        let own = module(name);
        for path in paths(text).iter().filter_map(|path| absolute(path, &own)) {
            let file = (1..=path.len()).rev().find_map(|len| files.get(&path[..len]));
            if let Some(file) = file.filter(|file| **file != name) {
                found.insert((name.clone(), (**file).clone()));
            }
        }
    }
    assert!(found.len() > 1000, "the imports were not found");
    found.into_iter().collect()
}

/// What is left of the files once those that import nothing which is left are taken away, again and again.
pub fn circle(imports: Vec<(String, String)>) -> Vec<String> {
    let mut left: BTreeSet<&String> = imports.iter().map(|(from, _)| from).collect();
    loop {
        let before = left.len();
        let here = left.clone();
        left.retain(|file| imports.iter().any(|(from, to)| from == *file && here.contains(to)));
        if left.len() == before {
            break;
        }
    }
    // And those that only lead there.
    loop {
        let before = left.len();
        let here = left.clone();
        left.retain(|file| imports.iter().any(|(from, to)| to == *file && here.contains(from)));
        if left.len() == before {
            return left.into_iter().cloned().collect();
        }
    }
}

/// A path from the crate's root; `None`: it is of another crate, or relative.
fn absolute(path: &[String], own: &[String]) -> Option<Vec<String>> {
    let ups = path.iter().take_while(|part| *part == "super").count();
    match path.first().map(String::as_str) {
        Some("crate") => Some(path[1..].to_vec()),
        Some("self") => Some([own, &path[1..]].concat()),
        Some("super") => Some([own.get(..own.len().checked_sub(ups)?)?, &path[ups..]].concat()),
        _ => None,
    }
}

/// The paths that a text names, each as its parts.
fn paths(text: &str) -> Vec<Vec<String>> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let text = lines.collect::<Vec<_>>().join("\n");
    let mut found = Vec::new();
    for root in ["crate::", "super::", "self::"] {
        for (at, _) in text.match_indices(root) {
            let is_whole = !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':' || c == '$');
            if is_whole {
                tree(&text[at..], &[], &mut found);
            }
        }
    }
    found
}

/// Reads a path, or a tree of them in braces, from the front of a text; what is left of it.
fn tree<'t>(text: &'t str, before: &[String], found: &mut Vec<Vec<String>>) -> &'t str {
    let (mut path, mut rest) = (before.to_vec(), text);
    loop {
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '*')).unwrap_or(rest.len());
        if end > 0 {
            path.push(rest[..end].to_owned());
        }
        rest = &rest[end..];
        let Some(next) = rest.strip_prefix("::") else { break };
        let Some(mut inside) = next.strip_prefix('{') else {
            rest = next;
            continue;
        };
        loop {
            inside = tree(inside.trim_start(), &path, found).trim_start();
            // An alias of what stands there.
            inside = inside.find([',', '}']).map_or("", |at| &inside[at..]);
            match inside.strip_prefix(',') {
                Some(more) if !more.trim_start().starts_with('}') => inside = more,
                Some(more) => return more.trim_start().strip_prefix('}').unwrap_or(more),
                None => return inside.strip_prefix('}').unwrap_or(inside),
            }
        }
    }
    found.push(path);
    rest
}
