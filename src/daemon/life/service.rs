//! What a service manager is told (sd_notify(3)): that the mount answers, what it does, that it lives, that it needs
//! longer. Nothing where no manager listens.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, Sender, bounded};
use sd_notify::NotifyState;

use crate::backend::Backend;
use crate::daemon::mounts::locate;
use crate::daemon::mounts::locate::Presence;

/// How often a recovery is looked at.
const LOOK: Duration = Duration::from_secs(5);
/// How much longer a recovery may take that has come further since the last look.
const EXTENSION: Duration = Duration::from_secs(60);
/// How often the status is told where no watchdog asks for more.
const STATUS_INTERVAL: Duration = Duration::from_secs(30);

/// Sends one message to the manager.
type Tell = fn(&[NotifyState<'_>]) -> std::io::Result<()>;

/// The manager of this process, if it has one.
#[derive(Clone)]
pub struct Service {
    /// How it is told.
    send: Option<Tell>,
    /// How often a recovery is looked at.
    look: Duration,
    stopping: Arc<AtomicBool>,
}

impl Service {
    /// A daemon of its own is nobody's service: only a process in the foreground reports.
    pub fn of_process(foreground: bool) -> Self {
        let present = foreground && std::env::var_os("NOTIFY_SOCKET").is_some();
        Self { send: present.then_some(sd_notify::notify), look: LOOK, stopping: Arc::default() }
    }

    fn tell(&self, states: &[NotifyState<'_>]) {
        if let Some(send) = self.send
            && let Err(e) = send(states)
        {
            log::warn!("the service manager was not told: {e}");
        }
    }

    /// Asks for more time as long as `recovered`, a count of what was read, grows; ends when the value is dropped.
    pub fn while_recovering(&self, recovered: Arc<AtomicU64>) -> Recovering {
        if self.send.is_none() {
            return Recovering { end: None, thread: None };
        }
        self.tell(&[NotifyState::Status("Opening the store")]);
        let (end, ended) = bounded::<()>(0);
        let (service, look, mut before) = (self.clone(), self.look, 0);
        let watch = move || {
            while ended.recv_timeout(look) == Err(RecvTimeoutError::Timeout) {
                let now = recovered.load(Ordering::Relaxed);
                if now != before {
                    let status = format!("Recovering: {now} records read");
                    let time = u32::try_from(EXTENSION.as_micros()).unwrap_or(u32::MAX);
                    service.tell(&[NotifyState::ExtendTimeoutUsec(time), NotifyState::Status(&status)]);
                    before = now;
                }
            }
        };
        // Without the thread the manager's own limit holds.
        let thread = std::thread::Builder::new().name("recovering".into()).spawn(watch).ok();
        Recovering { end: Some(end), thread }
    }

    /// The mount answers: says so, and from now on gives signs of life that went through the mount.
    pub fn ready(&self, mount_point: PathBuf, backend: Arc<dyn Backend>) {
        if self.send.is_none() {
            return;
        }
        let watchdog = sd_notify::watchdog_enabled();
        self.tell(&[NotifyState::Ready, NotifyState::Status(&status(&mount_point, &*backend))]);
        let service = self.clone();
        let interval = watchdog.map_or(STATUS_INTERVAL, |limit| limit / 2);
        let live = move || {
            loop {
                std::thread::sleep(interval);
                service.sign_of_life(&mount_point, &*backend);
            }
        };
        if let Err(e) = std::thread::Builder::new().name("watchdog".into()).spawn(live) {
            log::error!("start the watchdog thread: {e}");
        }
    }

    fn sign_of_life(&self, mount_point: &std::path::Path, backend: &dyn Backend) {
        if self.stopping.load(Ordering::Relaxed) {
            // The end has a time limit of its own.
            return self.tell(&[NotifyState::Watchdog]);
        }
        match locate::ask(mount_point) {
            Ok(Presence::Answers) => {
                self.tell(&[NotifyState::Watchdog, NotifyState::Status(&status(mount_point, backend))]);
            }
            Ok(Presence::Gone) => {
                let text = "Unmounted; serving programs that still have files open";
                self.tell(&[NotifyState::Watchdog, NotifyState::Status(text)]);
            }
            Err(e) => log::error!("the mount does not answer: {}", e.message),
        }
    }

    /// The end has begun.
    pub fn stopping(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.tell(&[NotifyState::Stopping, NotifyState::Status("Committing and unmounting")]);
    }
}

fn status(mount_point: &std::path::Path, backend: &dyn Backend) -> String {
    let at = mount_point.display().to_string();
    let at = at.escape_debug();
    match backend.status() {
        Ok(status) => {
            let doing = if status.activity.is_empty() { String::new() } else { format!(", {}", status.activity) };
            match status.poisoned {
                Some(reason) => format!("Serving {at} READ-ONLY: {}", reason.escape_debug()),
                None => format!("Serving {at}: {} cells{doing}", status.cells),
            }
        }
        Err(e) => format!("Serving {at}: {}", e.message.escape_debug()),
    }
}

/// A recovery that is being reported.
pub struct Recovering {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Recovering {
    fn drop(&mut self) {
        self.end.take();
        if let Some(thread) = self.thread.take() {
            // A panic there has been printed; nothing depends on it.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::env::sync::{Condvar, Mutex};

    use super::*;

    static TOLD: (Mutex<Vec<String>>, Condvar) = (Mutex::new(Vec::new()), Condvar::new());

    #[test]
    fn more_time_is_asked_for_only_while_a_recovery_gets_on() {
        let send = |states: &[NotifyState<'_>]| {
            TOLD.0.lock().extend(states.iter().map(ToString::to_string));
            TOLD.1.notify_all();
            Ok(())
        };
        let service = Service { send: Some(send), look: Duration::from_millis(1), stopping: Arc::default() };
        let recovered = Arc::new(AtomicU64::new(0));
        let told = |text: &str| TOLD.0.lock().iter().filter(|line| line.contains(text)).count();
        let recovering = service.while_recovering(Arc::clone(&recovered));
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(told("EXTEND_TIMEOUT_USEC"), 0, "nothing was read");
        recovered.store(7, Ordering::Relaxed);
        let mut lines = TOLD.0.lock();
        while !lines.iter().any(|line| line.contains("EXTEND_TIMEOUT_USEC=60000000")) {
            TOLD.1.wait(&mut lines);
        }
        drop(lines);
        drop(recovering);
        assert_eq!(told("EXTEND_TIMEOUT_USEC"), 1);
        assert_eq!(told("STATUS=Recovering: 7 records read"), 1);
    }
}
