//! Which backend: what was asked for, or what the system has, or polling.

use super::change::Warning;
use crate::error::{Error, Result};
use crate::record::WatchBackend;

/// Systems, as far as watching goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    /// Linux.
    Linux,
    /// macOS.
    Macos,
    /// Any other.
    Other,
}

impl Platform {
    /// This one.
    pub fn here() -> Platform {
        match (cfg!(all(target_os = "linux", not(auwai_portable))), cfg!(target_os = "macos")) {
            (true, _) => Platform::Linux,
            (_, true) => Platform::Macos,
            _ => Platform::Other,
        }
    }

    fn native(self) -> WatchBackend {
        match self {
            Platform::Linux => WatchBackend::Inotify,
            Platform::Macos => WatchBackend::Fsevents,
            Platform::Other => WatchBackend::Poll,
        }
    }

    fn has(self, backend: WatchBackend) -> bool {
        match backend {
            WatchBackend::Poll => true,
            WatchBackend::Notify => self != Platform::Other,
            native => native == self.native(),
        }
    }
}

/// The codes of errors that say that a backend cannot start here, whatever is watched.
pub const CANNOT_START: [&str; 3] = ["no-inotify", "no-fsevents", "no-notify"];

/// A backend that has been started.
#[derive(Debug)]
pub struct Choice<T> {
    /// Which one.
    pub backend: WatchBackend,
    /// What starting it gave.
    pub started: T,
    /// Why it is not the one that the system has.
    pub warning: Option<Warning>,
}

/// Starts the backend that was asked for; else the system's own, and if that cannot start, polling,
/// with one warning.
///
/// # Errors
/// When a backend that was asked for is not there or cannot start, or when nothing can be watched.
pub fn choose<T>(
    platform: Platform,
    request: Option<WatchBackend>,
    mut start: impl FnMut(WatchBackend) -> Result<T>,
) -> Result<Choice<T>> {
    let backend = request.unwrap_or(platform.native());
    if !platform.has(backend) {
        let message = format!("the backend '{}' is not available on this system", backend.as_str());
        return Err(Error::failed("no-backend", message)
            .hint("let it be chosen: `auwai-wait-events --backend auto`"));
    }
    match start(backend) {
        Ok(started) => Ok(Choice { backend, started, warning: None }),
        Err(error) if request.is_none() && CANNOT_START.contains(&error.code()) => {
            let message = format!("{error}; all directories are polled instead");
            let warning = Warning { message, hint: error.hints().first().cloned() };
            let backend = WatchBackend::Poll;
            Ok(Choice { backend, started: start(backend)?, warning: Some(warning) })
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use WatchBackend::{Fsevents, Inotify, Notify, Poll};

    /// Chooses where all but `broken` start; what was chosen, and whether with a warning.
    fn chosen(
        platform: Platform,
        request: Option<WatchBackend>,
        broken: &[WatchBackend],
    ) -> std::result::Result<(WatchBackend, bool), String> {
        let start = |backend: WatchBackend| match broken.contains(&backend) {
            true => Err(Error::failed("no-inotify", "cannot start")),
            false => Ok(()),
        };
        let choice = choose(platform, request, start);
        choice.map(|c| (c.backend, c.warning.is_some())).map_err(|e| e.code().to_string())
    }

    #[test]
    fn auto_is_the_systems_own_or_polling_with_a_warning() {
        for (platform, native) in
            [(Platform::Linux, Inotify), (Platform::Macos, Fsevents), (Platform::Other, Poll)]
        {
            assert_eq!(chosen(platform, None, &[]), Ok((native, false)));
        }
        for platform in [Platform::Linux, Platform::Macos] {
            assert_eq!(chosen(platform, None, &[Inotify, Fsevents]), Ok((Poll, true)));
        }
    }

    #[test]
    fn what_was_asked_for_is_had_or_refused() {
        for platform in [Platform::Linux, Platform::Macos, Platform::Other] {
            assert_eq!(chosen(platform, Some(Poll), &[]), Ok((Poll, false)));
            for (backend, on) in [
                (Inotify, &[Platform::Linux][..]),
                (Fsevents, &[Platform::Macos]),
                (Notify, &[Platform::Linux, Platform::Macos]),
            ] {
                let there = on.contains(&platform);
                let wanted = if there { Ok((backend, false)) } else { Err("no-backend".into()) };
                assert_eq!(chosen(platform, Some(backend), &[]), wanted, "{platform:?}");
                let wanted = if there { "no-inotify" } else { "no-backend" };
                let broken = chosen(platform, Some(backend), &[backend]);
                assert_eq!(broken, Err(wanted.to_string()), "{platform:?}");
            }
        }
    }

    #[test]
    fn a_root_that_is_not_there_is_no_reason_to_poll() {
        let start = |_| Err::<(), _>(Error::failed("not-found", "no such directory"));
        let error = choose(Platform::Linux, None, start).unwrap_err();
        assert_eq!(error.code(), "not-found");
    }
}
