//! How much memory this process may have: that of the machine, or what its control groups allow.

use std::path::{Path, PathBuf};

/// Bytes; `None`: the system does not tell.
pub fn memory() -> Option<u64> {
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    let of_machine = total(&read(Path::new("/proc/meminfo")).unwrap_or_default());
    let own = read(Path::new("/proc/self/cgroup")).unwrap_or_default();
    let mounts = read(Path::new("/proc/self/mountinfo")).unwrap_or_default();
    let limits = limits(&own, &mounts);
    limits.iter().filter_map(|file| read(file)?.trim().parse().ok()).chain(of_machine).min()
}

/// Of /proc/meminfo, `MemTotal:  24684084 kB`.
fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(line.split_ascii_whitespace().next()?.parse::<u64>().ok()? << 10)
}

/// Files with the limits of the control groups of memory, and of those around them (cgroups(7)). One that is not there, or
/// has no number, limits nothing.
fn limits(own: &str, mounts: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in own.lines() {
        // HIERARCHY:CONTROLLERS:PATH
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (kind, name) = match controllers.split(',').any(|one| one == "memory") {
            true => ("cgroup", "memory.limit_in_bytes"),
            false if controllers.is_empty() => ("cgroup2", "memory.max"),
            false => continue,
        };
        let Some((root, mount_point)) = mounts.lines().find_map(|line| hierarchy(line, kind)) else { continue };
        // In a container the mount shows less than all, and the path may lead out of it.
        let below = Path::new(path).strip_prefix(root).unwrap_or(Path::new(""));
        let below = if path.contains("/..") { Path::new("") } else { below };
        files.extend(below.ancestors().map(|group| Path::new(mount_point).join(group).join(name)));
    }
    files
}

/// `ID PARENT DEVICE ROOT MOUNTPOINT OPTIONS... - TYPE SOURCE OPTIONS` (proc_pid_mountinfo(5)): root and mount point of the
/// hierarchy that has limits of memory, if it is one of this kind.
fn hierarchy<'l>(line: &'l str, kind: &str) -> Option<(&'l str, &'l str)> {
    let (mounted, filesystem) = line.split_once(" - ")?;
    let mut filesystem = filesystem.split(' ');
    let is_it = filesystem.next() == Some(kind)
        && (kind == "cgroup2" || filesystem.nth(1)?.split(',').any(|option| option == "memory"));
    let mut mounted = mounted.split(' ').skip(3);
    is_it.then_some((mounted.next()?, mounted.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(own: &str, mounts: &str) -> Vec<String> {
        limits(own, mounts).iter().map(|file| file.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn the_machine_has_so_much() {
        assert_eq!(total("MemFree: 7 kB\nMemTotal:       24684084 kB\n"), Some(24_684_084 << 10));
        assert_eq!((total(""), total("MemTotal: much kB")), (None, None));
        assert!(memory().is_some_and(|bytes| bytes > 1 << 20));
    }

    #[test]
    fn groups_and_those_around_them_are_asked() {
        let mounts = "25 30 0:23 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
        let asked = shown("0::/system.slice/cellfs.service\n", mounts);
        let wanted = [
            "/sys/fs/cgroup/system.slice/cellfs.service/memory.max",
            "/sys/fs/cgroup/system.slice/memory.max",
            "/sys/fs/cgroup/memory.max",
        ];
        assert_eq!(asked, wanted);
    }

    #[test]
    fn groups_of_the_first_version_are_found_among_others() {
        let mounts = "31 30 0:26 / /sys/fs/cgroup/cpu rw - cgroup cpu rw,cpu\n\
                      32 30 0:27 / /sys/fs/cgroup/memory rw - cgroup memory rw,memory\n\
                      33 30 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let asked = shown("9:name=systemd:/\n4:memory:/a b/x\n1:cpu:/\n0::/\n", mounts);
        let wanted = ["a b/x/memory.limit_in_bytes", "a b/memory.limit_in_bytes", "memory.limit_in_bytes"];
        assert_eq!(asked[..3], wanted.map(|file| format!("/sys/fs/cgroup/memory/{file}")));
        assert_eq!(asked[3..], ["/sys/fs/cgroup/unified/memory.max"]);
    }

    #[test]
    fn a_container_sees_a_part() {
        let mounts = "32 30 0:27 /docker/7f /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
        let whole = ["/sys/fs/cgroup/memory/memory.limit_in_bytes"];
        assert_eq!(shown("4:memory:/docker/7f\n", mounts), whole);
        assert_eq!(shown("4:memory:/elsewhere\n", mounts), whole);
        let apart = "25 30 0:23 /../.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        assert_eq!(shown("0::/../other\n", apart), ["/sys/fs/cgroup/memory.max"]);
        assert!(
            shown("", mounts).is_empty() && shown("0::/\n", "").is_empty() && shown("nonsense", "x - y").is_empty()
        );
    }
}
