//! Checks if a process is alive, finds the children of a process, and ends processes.

/// Returns true if a process exists and is not merely waiting to be reaped.
pub fn is_alive(pid: u32) -> bool {
    // `Z` and `X` are the states of a process that has ended.
    stat(pid).is_some_and(|(state, _)| !matches!(state, 'Z' | 'X'))
}

/// Returns true if a process is alive and not stopped by a signal.
pub fn can_run(pid: u32) -> bool {
    stat(pid).is_some_and(|(state, _)| !matches!(state, 'Z' | 'X' | 'T' | 't'))
}

/// Returns all processes that `parent` has started, or has inherited from descendants that have ended.
pub fn children(parent: u32) -> Vec<u32> {
    all().filter(|pid| stat(*pid).is_some_and(|(_, of)| of == parent)).collect()
}

/// Returns the numbers of all processes.
pub fn all() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Returns the state of a process, and the number of its parent.
fn stat(pid: u32) -> Option<(char, u32)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Both fields follow the name, which is in parentheses and may itself contain any character.
    let mut fields = stat.rsplit_once(") ")?.1.split_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

/// Sends a process a request to end (SIGTERM).
pub fn terminate(pid: u32) {
    send(pid, libc::SIGTERM);
}

/// Ends a process at once (SIGKILL).
pub fn kill(pid: u32) {
    send(pid, libc::SIGKILL);
}

fn send(pid: u32, signal: libc::c_int) {
    // Zero addresses a whole group of processes, and one is init.
    if let Ok(pid @ 2..) = i32::try_from(pid) {
        // SAFETY: `kill` does not access the memory of this process.
        unsafe { libc::kill(pid, signal) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_is_alive_until_it_has_ended() {
        assert!(is_alive(std::process::id()));
        let mut child = Command::new("true").spawn().unwrap();
        let pid = child.id();
        child.wait().unwrap();
        assert!(!is_alive(pid));
    }

    #[test]
    fn a_child_process_is_listed_under_its_parent_until_it_is_reaped() {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        assert!(children(std::process::id()).contains(&child.id()));
        kill(child.id());
        child.wait().unwrap();
        assert!(!children(std::process::id()).contains(&child.id()));
    }
}
