//! Rights that a thread gives up before it reads what others have sent: requests of the kernel, and of the control
//! socket. Threads that it starts have no more.
//!
//! Kept by no means: capabilities, programs with more rights, files outside the store (Landlock), system calls that
//! only somebody else's code would make (seccomp). What a kernel does not have is done without, and told. The threads
//! that mount and unmount are older and keep their rights.

use std::collections::BTreeMap;
use std::path::PathBuf;

use caps::{CapSet, Capability, CapsHashSet};
use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus,
    path_beneath_rules,
};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};

/// What is read beside the store: time zones, what the kernel says of processes, random bytes, names for a backtrace.
const READ: [&str; 7] =
    ["/proc", "/etc/localtime", "/usr/share/zoneinfo", "/dev/urandom", "/usr/lib", "/lib", "/lib64"];
/// Where SQLite puts files that it sorts in.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

/// Calls that no thread of a mount makes once it serves.
const REFUSED: [i64; 33] = [
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_acct,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_quotactl,
    libc::SYS_open_by_handle_at,
    libc::SYS_execve,
    libc::SYS_execveat,
];

/// What the threads of a mount may reach.
#[derive(Clone, Debug)]
pub struct Confinement {
    /// Directories in which everything is allowed: the store, where unfinished values lie too.
    pub writable: Vec<PathBuf>,
    /// What is read beside that.
    pub readable: Vec<PathBuf>,
    /// Root works in a store of another user.
    pub of_another: Owner,
}

/// Whose the store is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    Own,
    Another,
}

impl Confinement {
    /// Gives up what the calling thread does not need, for good.
    pub fn enter(&self) {
        // Order: Landlock forbids to gain rights by starting a program; seccomp asks for that.
        let steps: [(&str, Result<(), String>); 3] = [
            ("Landlock", self.landlock()),
            ("seccomp", seccomp()),
            ("capabilities", self.capabilities().map_err(|e| e.to_string())),
        ];
        for (what, outcome) in steps {
            if let Err(e) = outcome {
                log::info!("the daemon's threads keep some rights ({what}): {e}");
            }
        }
    }

    fn landlock(&self) -> Result<(), String> {
        let abi = ABI::V5;
        let rules = || -> Result<_, landlock::RulesetError> {
            let all = AccessFs::from_all(abi);
            Ruleset::default()
                .set_compatibility(CompatLevel::BestEffort)
                .handle_access(all)?
                .create()?
                .add_rules(path_beneath_rules(&self.writable, all))?
                .add_rules(path_beneath_rules(TEMPORARY, all))?
                .add_rules(path_beneath_rules(READ, AccessFs::from_read(abi)))?
                .add_rules(path_beneath_rules(&self.readable, AccessFs::from_read(abi)))?
                .restrict_self()
        };
        match rules() {
            Ok(status) if status.ruleset == RulesetStatus::NotEnforced => Err("the kernel has none".to_owned()),
            Ok(_) => Ok(()),
            Err(e) => Err(e.to_string()),
        }
    }

    fn capabilities(&self) -> Result<(), caps::errors::CapsError> {
        let mut kept = CapsHashSet::new();
        if self.of_another == Owner::Another {
            kept.extend([Capability::CAP_CHOWN, Capability::CAP_DAC_OVERRIDE, Capability::CAP_FOWNER]);
        }
        kept.retain(|one| caps::has_cap(None, CapSet::Permitted, *one).unwrap_or(false));
        caps::clear(None, CapSet::Ambient)?;
        caps::set(None, CapSet::Effective, &kept)?;
        caps::set(None, CapSet::Permitted, &kept)?;
        caps::clear(None, CapSet::Inheritable)
    }
}

fn seccomp() -> Result<(), String> {
    let rules: BTreeMap<i64, Vec<seccompiler::SeccompRule>> = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let arch = std::env::consts::ARCH.try_into().map_err(|e: seccompiler::BackendError| e.to_string())?;
    let refuse = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch).map_err(|e| e.to_string())?;
    let program: BpfProgram = filter.try_into().map_err(|e: seccompiler::BackendError| e.to_string())?;
    seccompiler::apply_filter(&program).map_err(|e| e.to_string())
}
