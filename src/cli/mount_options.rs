//! The words of `-o`, as mount(8) passes them.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use crate::daemon::MountRequest;
use crate::daemon::mounts::locate::is_cluster;
use crate::env::admit_other_owners;
use crate::fs::Options;
use crate::fuse::Idle;
use crate::model::Durability;
use crate::store::OnFullDisk;
use crate::tree::names::escape::{At, Bytes};
use crate::{Error, ErrorKind, Result};

/// Words for mount(8), systemd and the kernel that ask nothing of us, or what is so anyway.
const WITHOUT_EFFECT: [&str; 27] = [
    "rw",
    "defaults",
    "nosuid",
    "nodev",
    "noatime",
    "atime",
    "relatime",
    "norelatime",
    "nodiratime",
    "strictatime",
    "nostrictatime",
    "lazytime",
    "nolazytime",
    "async",
    "auto",
    "noauto",
    "nofail",
    "_netdev",
    "user",
    "users",
    "nouser",
    "owner",
    "group",
    "exec",
    "loud",
    "silent",
    "remount",
];

/// How many threads may answer the kernel.
const THREADS: RangeInclusive<usize> = 1..=256;
/// Of no user and no group: it tells chown(2) to leave them.
const NOBODY: u32 = u32::MAX;

/// Whether a word asks nothing of us.
fn is_without_effect(name: &str, value: Option<&str>) -> bool {
    match value {
        None => WITHOUT_EFFECT.contains(&name) || is_comment(name),
        // The kernel shows the last three, and mount(8) gives them back for a remount.
        Some(_) => matches!(name, "user" | "comment" | "user_id" | "group_id" | "max_read") || is_comment(name),
    }
}

/// `x-systemd.automount` and the like.
fn is_comment(name: &str) -> bool {
    name.starts_with("x-") || name.starts_with("X-")
}

/// One word of `-o`.
pub fn apply(request: &mut MountRequest, option: &str) -> Result<()> {
    let (name, value) = split(option);
    if is_without_effect(name, value) {
        return Ok(());
    }
    match (name, value) {
        ("ro", None) => {
            request.options.read_only = Some("the mount is read-only".to_owned());
            request.settings.read_only = true;
            request.store.on_full_disk = OnFullDisk::Read;
        }
        ("allow_other", None) => {
            request.settings.allow_other = true;
            request.options.lets_others_in = true;
        }
        ("default_permissions", None) => request.settings.default_permissions = true,
        ("noexec", None) => request.settings.no_exec = true,
        ("other_owner", None) => admit_other_owners(),
        ("nonempty", None) => request.nonempty = true,
        ("noxattr", None) => request.options.no_xattr = true,
        ("sync" | "dirsync", None) => request.store.durability = Durability::FsyncWal,
        ("suid" | "dev", None) => {
            let text = format!("mount option `{name}`: cellfs has no devices and no set-user-id files; leave it out");
            return Err(Error::new(ErrorKind::IllegalArgument, text));
        }
        (_, Some(text)) => return apply_value(request, option, name, text),
        _ => return Err(unknown(option)),
    }
    Ok(())
}

fn apply_value(request: &mut MountRequest, option: &str, name: &str, text: &str) -> Result<()> {
    let MountRequest { settings, options, store, .. } = request;
    match (name, text) {
        ("history", "inline") => options.inline_history = true,
        ("history", "off") => options.inline_history = false,
        ("history", _) => return Err(wrong(option, "inline or off")),
        ("names", "raw") => options.spelling.bytes = Bytes::Raw,
        ("names", "text") => options.spelling.bytes = Bytes::Text,
        ("names", _) => return Err(wrong(option, "text or raw")),
        ("at", "plain") => options.spelling.at = At::Plain,
        ("at", "version") => options.spelling.at = At::Version,
        ("at", _) => return Err(wrong(option, "version or plain")),
        ("families", "auto") => options.families_auto = true,
        ("families", "declared") => options.families_auto = false,
        ("families", _) => return Err(wrong(option, "auto or declared")),
        ("idle", _) => settings.idle = idle(option, text)?,
        ("durability", _) => store.durability = durability(option, text)?,
        ("uid", _) => {
            options.uid = user(option, text)?;
            options.told.uid = Some(options.uid);
        }
        ("gid", _) => {
            options.gid = group(option, text)?;
            options.told.gid = Some(options.gid);
        }
        ("umask", _) => {
            told_file_mask(options, mask(option, text)?);
            told_dir_mask(options, mask(option, text)?);
        }
        ("fmask", _) => told_file_mask(options, mask(option, text)?),
        ("dmask", _) => told_dir_mask(options, mask(option, text)?),
        ("temporary", _) => {
            let patterns = text.split(':').map(glob::Pattern::new).collect::<Result<_, _>>();
            options.temporary = patterns.map_err(|_| wrong(option, "shell patterns separated by colons"))?;
        }
        ("cache" | "attr", _) => options.cache_time = Duration::from_secs(number(option, text)?),
        ("threads", _) => {
            let threads = number(option, text).ok().filter(|threads| THREADS.contains(threads));
            settings.threads = threads.ok_or_else(|| wrong(option, "a number from 1 to 256"))?;
        }
        ("nodes", _) => options.max_nodes = number(option, text)?,
        ("value_limit", _) if is_cluster(&settings.source) => {
            let text = "mount option `value_limit`: the longest value of a cluster is what its servers take, \
                        hbase.server.keyvalue.maxsize in their hbase-site.xml (10 MiB unless it is set, and at most \
                        through a mount); leave it out";
            return Err(Error::new(ErrorKind::IllegalArgument, text));
        }
        ("value_limit", _) => {
            let way = format!("set it once, for all mounts, with: cellfs config STORE value_limit {text}");
            let text = format!("mount option `{name}`: the longest value is a setting of the store; {way}");
            return Err(Error::new(ErrorKind::IllegalArgument, text));
        }
        ("log", _) if text.starts_with('/') => request.log = Some(PathBuf::from(text)),
        ("log", _) => return Err(wrong(option, "the absolute path of a file")),
        _ => return Err(unknown(option)),
    }
    Ok(())
}

fn told_file_mask(options: &mut Options, mask: u16) {
    (options.file_mask, options.told.file_mask) = (mask, Some(mask));
}

fn told_dir_mask(options: &mut Options, mask: u16) {
    (options.dir_mask, options.told.dir_mask) = (mask, Some(mask));
}

/// Refuses options that do not go together.
pub fn check(request: &MountRequest) -> Result<()> {
    if request.options.inline_history && request.options.spelling.at == At::Plain {
        let text = "mount options `history=inline` and `at=plain` do not go together: the first lists versions as \
                    NAME@TIME, which is a name with the second";
        return Err(Error::new(ErrorKind::IllegalArgument, text));
    }
    Ok(())
}

/// What a mount that exists is changed to.
pub struct Remount {
    pub read_only: Option<bool>,
    pub no_exec: Option<bool>,
    /// Words that a remount cannot obey.
    pub kept: Vec<String>,
}

/// The change that `-o remount` asks for; `None` without that word.
pub fn remount(options: &[String]) -> Option<Remount> {
    if !options.iter().any(|option| option == "remount") {
        return None;
    }
    let mut change = Remount { read_only: None, no_exec: None, kept: Vec::new() };
    for option in options {
        let (name, value) = split(option);
        match option.as_str() {
            "ro" => change.read_only = Some(true),
            "rw" => change.read_only = Some(false),
            "noexec" => change.no_exec = Some(true),
            "exec" => change.no_exec = Some(false),
            _ if option.is_empty() || is_without_effect(name, value) => {}
            _ => change.kept.push(option.clone()),
        }
    }
    Some(change)
}

fn split(option: &str) -> (&str, Option<&str>) {
    option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)))
}

fn durability(option: &str, text: &str) -> Result<Durability> {
    let name = text.to_ascii_uppercase();
    let name = if name.ends_with("_WAL") { name } else { name + "_WAL" };
    Durability::parse(&name).ok_or_else(|| wrong(option, "skip, async, sync or fsync"))
}

fn idle(option: &str, text: &str) -> Result<Idle> {
    match text {
        "auto" => Ok(Idle::Auto),
        "poll" => Ok(Idle::Poll),
        "halt" => Ok(Idle::Halt),
        _ => Err(wrong(option, "auto, poll or halt")),
    }
}

fn user(option: &str, text: &str) -> Result<u32> {
    let named = || nix::unistd::User::from_name(text).ok().flatten().map(|user| user.uid.as_raw());
    let known = text.parse().ok().or_else(named).filter(|id| *id != NOBODY);
    known.ok_or_else(|| wrong(option, "a user's number or name"))
}

fn group(option: &str, text: &str) -> Result<u32> {
    let named = || nix::unistd::Group::from_name(text).ok().flatten().map(|group| group.gid.as_raw());
    let known = text.parse().ok().or_else(named).filter(|id| *id != NOBODY);
    known.ok_or_else(|| wrong(option, "a group's number or name"))
}

fn mask(option: &str, text: &str) -> Result<u16> {
    let mask = u16::from_str_radix(text, 8).ok().filter(|mask| *mask <= 0o777);
    mask.ok_or_else(|| wrong(option, "an octal number up to 777"))
}

fn number<T: std::str::FromStr>(option: &str, text: &str) -> Result<T> {
    text.parse().map_err(|_| wrong(option, "a number"))
}

fn unknown(option: &str) -> Error {
    let text = format!("unknown mount option `{}`; `cellfs mount --help` lists them", option.escape_debug());
    Error::new(ErrorKind::IllegalArgument, text)
}

fn wrong(option: &str, wanted: &str) -> Error {
    Error::new(ErrorKind::IllegalArgument, format!("mount option `{}` wants {wanted}", option.escape_debug()))
}
