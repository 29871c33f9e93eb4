//! mount and umount.

use std::path::Path;
use std::time::Duration;

use super::Answer;
use super::args::{MountArgs, UmountArgs};
use crate::daemon::client::Client;
use crate::daemon::{MountRequest, locate, mount as start};
use crate::fs::Options;
use crate::fuse::{Detach, MountSettings, unmount};
use crate::store::{Store, StoreOptions};
use crate::{Error, ErrorKind, Result};

/// How long `umount` waits for the daemon to write down what is open.
const END_TIMEOUT: Duration = Duration::from_secs(60);

pub fn mount(args: MountArgs) -> Result<Answer> {
    // Order: relative paths mean nothing to a daemon.
    let store = std::path::absolute(&args.store).map_err(|e| Error::io(args.store.display(), &e))?;
    Store::admit(&store)?;
    make_store_directory(&store)?;
    let store = locate::absolute(&store)?;
    let mount_point = locate::absolute(&args.mount_point)?;
    let mut request = MountRequest {
        settings: MountSettings {
            source: store.clone(),
            allow_other: false,
            read_only: false,
            threads: 2,
            no_exec: false,
        },
        options: Options {
            uid: nix::unistd::geteuid().as_raw(),
            gid: nix::unistd::getegid().as_raw(),
            umask: 0o022,
            spill_dir: store.clone(),
            ..Options::default()
        },
        store: StoreOptions::new(&store),
        mount_point,
        foreground: args.foreground,
        nonempty: false,
    };
    for option in args.options.iter().filter(|option| !option.is_empty()) {
        apply(&mut request, option)?;
    }
    start(request)?;
    Ok(Answer::Yes)
}

fn make_store_directory(store: &Path) -> Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(store);
    made.map_err(|e| Error::io(format!("make the store's directory {}", store.display()), &e))
}

/// One word of `-o`.
fn apply(request: &mut MountRequest, option: &str) -> Result<()> {
    let (name, value) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
    match (name, value) {
        ("ro", None) => (request.options.read_only, request.settings.read_only) = (true, true),
        ("rw" | "defaults" | "nosuid" | "nodev" | "noatime" | "auto" | "noauto" | "_netdev" | "nofail", None) => {}
        ("allow_other", None) => request.settings.allow_other = true,
        ("noexec", None) => request.settings.no_exec = true,
        ("exec", None) => request.settings.no_exec = false,
        ("nonempty", None) => request.nonempty = true,
        ("noxattr", None) => request.options.no_xattr = true,
        ("history", Some("inline")) => request.options.inline_history = true,
        ("families", Some("auto")) => request.options.families_auto = true,
        ("uid", Some(text)) => request.options.uid = number(option, text)?,
        ("gid", Some(text)) => request.options.gid = number(option, text)?,
        ("umask", Some(text)) => {
            request.options.umask = u16::from_str_radix(text, 8).map_err(|_| wrong(option, "an octal number"))?;
        }
        ("temporary", Some(globs)) => {
            let patterns = globs.split(':').map(glob::Pattern::new).collect::<Result<_, _>>();
            request.options.temporary = patterns.map_err(|_| wrong(option, "shell patterns separated by colons"))?;
        }
        ("cache", Some(text)) => request.options.cache_time = Duration::from_secs(number(option, text)?),
        ("threads", Some(text)) => request.settings.threads = number(option, text)?,
        ("nodes", Some(text)) => request.options.max_nodes = number(option, text)?,
        ("value_limit", Some(text)) => request.store.value_limit = number(option, text)?,
        _ => {
            let text = format!("unknown mount option `{}`; `cellfs mount --help` lists them", option.escape_debug());
            return Err(Error::new(ErrorKind::IllegalArgument, text));
        }
    }
    Ok(())
}

fn number<T: std::str::FromStr>(option: &str, text: &str) -> Result<T> {
    text.parse().map_err(|_| wrong(option, "a number"))
}

fn wrong(option: &str, wanted: &str) -> Error {
    Error::new(ErrorKind::IllegalArgument, format!("mount option `{}` wants {wanted}", option.escape_debug()))
}

pub fn umount(args: &UmountArgs) -> Result<Answer> {
    let path = locate::absolute(&args.path)?;
    let mount = locate::mounts()?.into_iter().rev().find(|m| m.mount_point == path || m.source == path);
    let Some(mount) = mount else {
        let text = format!("{} is neither a mount point nor a mounted store of cellfs", path.display());
        return Err(Error::new(ErrorKind::NotFound, text));
    };
    let detach = if args.lazy || locate::is_dead(&mount.mount_point) { Detach::Now } else { Detach::WhenIdle };
    let daemon = Client::connect(&mount.source).unwrap_or_default();
    unmount(&mount.mount_point, detach)?;
    match daemon {
        Some(daemon) if !args.lazy && !daemon.wait_for_end(END_TIMEOUT) => Err(Error::new(
            ErrorKind::Busy,
            format!("unmounted, but the daemon (pid {}) has not ended within {END_TIMEOUT:?}", daemon.hello().pid),
        )),
        _ => Ok(Answer::Yes),
    }
}
