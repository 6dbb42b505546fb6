//! Table of the memory that the kernel writes in each system call.
//!
//! After a call, the lines that the kernel may have written are unknown, and the recorder sends them again at their
//! next touch. After a call that the table lacks, all lines are unknown, which costs time. `objects.rs` follows the
//! writes of calls to mapped files, and `follow.rs` the mappings of calls.

use crate::qemu::guest;
use libc::*;

/// A part of memory that a system call writes.
#[derive(Clone, Copy)]
enum WrittenArgument {
    /// A fixed number of bytes at a pointer: index of the argument, bytes.
    Fixed(usize, u64),
    /// The returned number of bytes at a pointer: index of the argument.
    Returned(usize),
    /// The returned number of entries at a pointer: index of the argument, bytes of an entry.
    Entries(usize, u64),
    /// Entries at a pointer, by a count in another argument: index of the pointer, index of the count, bytes of an
    /// entry.
    Counted(usize, usize, u64),
    /// The buffers of an `iovec` array: index of the pointer. The next argument is the count.
    Vectors(usize),
    /// A `msghdr` with all buffers that it points to: index of the pointer.
    Message(usize),
    /// The returned number of `mmsghdr` at a pointer, with all buffers that they point to: index of the pointer.
    Messages(usize),
}
use WrittenArgument::*;

/// System calls, with the memory of the process that they write. Calls that write no memory have an empty list.
const WRITES: &[(&[c_long], &[WrittenArgument])] = &[
    (&[SYS_read, SYS_pread64, SYS_getdents64, SYS_getdents, SYS_readlink], &[Returned(1)]),
    (&[SYS_readv, SYS_preadv, SYS_preadv2], &[Vectors(1)]),
    (&[SYS_readlinkat], &[Returned(2)]),
    (&[SYS_recvmsg], &[Message(1)]),
    (&[SYS_recvmmsg], &[Messages(1), Fixed(4, 16)]),
    (&[SYS_msgrcv], &[Fixed(1, 8), Counted(1, 2, 1)]),
    (&[SYS_mq_timedreceive], &[Returned(1), Fixed(3, 4)]),
    (&[SYS_getcwd, SYS_getrandom], &[Returned(0)]),
    (&[SYS_recvfrom], &[Returned(1), Fixed(4, 128), Fixed(5, 4)]),
    (&[SYS_stat, SYS_fstat, SYS_lstat, SYS_getrusage], &[Fixed(1, 144)]),
    (&[SYS_newfstatat], &[Fixed(2, 144)]),
    (&[SYS_statx], &[Fixed(4, 256)]),
    (&[SYS_statfs, SYS_fstatfs], &[Fixed(1, 120)]),
    (&[SYS_uname], &[Fixed(0, 390)]),
    (&[SYS_sysinfo], &[Fixed(0, 128)]),
    (&[SYS_times], &[Fixed(0, 32)]),
    (&[SYS_time], &[Fixed(0, 8)]),
    (&[SYS_gettimeofday], &[Fixed(0, 16), Fixed(1, 8)]),
    (&[SYS_clock_gettime, SYS_clock_getres, SYS_getrlimit, SYS_nanosleep], &[Fixed(1, 16)]),
    (&[SYS_clock_nanosleep, SYS_prlimit64], &[Fixed(3, 16)]),
    (&[SYS_getitimer], &[Fixed(1, 32)]),
    (&[SYS_setitimer], &[Fixed(2, 32)]),
    (&[SYS_rt_sigaction, SYS_timerfd_settime], &[Fixed(2, 32), Fixed(3, 32)]),
    (&[SYS_rt_sigprocmask], &[Fixed(2, 128)]),
    (&[SYS_rt_sigpending], &[Fixed(0, 128)]),
    (&[SYS_rt_sigtimedwait], &[Fixed(1, 128)]),
    (&[SYS_sigaltstack], &[Fixed(1, 24)]),
    (&[SYS_pipe, SYS_pipe2], &[Fixed(0, 8)]),
    (&[SYS_socketpair], &[Fixed(3, 8)]),
    (&[SYS_accept, SYS_accept4, SYS_getsockname, SYS_getpeername], &[Fixed(1, 128), Fixed(2, 4)]),
    (&[SYS_getsockopt], &[Fixed(3, 256), Fixed(4, 4)]),
    (&[SYS_sched_getaffinity], &[Counted(2, 1, 1)]),
    (&[SYS_getgroups], &[Counted(1, 0, 4)]),
    (&[SYS_getresuid, SYS_getresgid], &[Fixed(0, 4), Fixed(1, 4), Fixed(2, 4)]),
    (&[SYS_getcpu], &[Fixed(0, 4), Fixed(1, 4)]),
    (&[SYS_wait4], &[Fixed(1, 4), Fixed(3, 144)]),
    (&[SYS_waitid], &[Fixed(2, 128), Fixed(4, 144)]),
    (&[SYS_poll], &[Counted(0, 1, 8)]),
    (&[SYS_ppoll], &[Counted(0, 1, 8), Fixed(2, 16)]),
    (&[SYS_select, SYS_pselect6], &[Fixed(1, 128), Fixed(2, 128), Fixed(3, 128), Fixed(4, 16)]),
    (&[SYS_epoll_wait, SYS_epoll_pwait, SYS_epoll_pwait2], &[Entries(1, 12)]),
    (&[SYS_futex], &[Fixed(0, 4), Fixed(4, 4)]),
    (&[SYS_sendfile], &[Fixed(2, 8)]),
    (&[SYS_copy_file_range, SYS_splice], &[Fixed(1, 8), Fixed(3, 8)]),
    (&[SYS_shmctl], &[Fixed(2, 112)]),
    (&[SYS_arch_prctl], &[Fixed(1, 8)]),
    (&[SYS_prctl], &[Fixed(1, 64)]),
    (&[SYS_fcntl], &[Fixed(2, 32)]),
    (&[SYS_clone], &[Fixed(2, 4), Fixed(3, 4)]),
    (NOTHING, &[]),
];

const NOTHING: &[c_long] = &[
    SYS_write,
    SYS_pwrite64,
    SYS_writev,
    SYS_pwritev,
    SYS_pwritev2,
    SYS_close,
    SYS_open,
    SYS_openat,
    SYS_creat,
    SYS_lseek,
    SYS_access,
    SYS_faccessat,
    SYS_faccessat2,
    SYS_dup,
    SYS_dup2,
    SYS_dup3,
    SYS_getpid,
    SYS_gettid,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_getppid,
    SYS_getpgrp,
    SYS_getpgid,
    SYS_setpgid,
    SYS_getsid,
    SYS_setsid,
    SYS_umask,
    SYS_chdir,
    SYS_fchdir,
    SYS_mkdir,
    SYS_mkdirat,
    SYS_rmdir,
    SYS_unlink,
    SYS_unlinkat,
    SYS_rename,
    SYS_renameat,
    SYS_renameat2,
    SYS_link,
    SYS_linkat,
    SYS_symlink,
    SYS_symlinkat,
    SYS_chmod,
    SYS_fchmod,
    SYS_fchmodat,
    SYS_chown,
    SYS_fchown,
    SYS_fchownat,
    SYS_lchown,
    SYS_truncate,
    SYS_ftruncate,
    SYS_fsync,
    SYS_fdatasync,
    SYS_fallocate,
    SYS_fadvise64,
    SYS_flock,
    SYS_kill,
    SYS_tkill,
    SYS_tgkill,
    SYS_exit,
    SYS_exit_group,
    SYS_alarm,
    SYS_pause,
    SYS_sched_yield,
    SYS_sched_setaffinity,
    SYS_socket,
    SYS_bind,
    SYS_connect,
    SYS_listen,
    SYS_shutdown,
    SYS_setsockopt,
    SYS_sendto,
    SYS_eventfd2,
    SYS_epoll_create,
    SYS_epoll_create1,
    SYS_epoll_ctl,
    SYS_timerfd_create,
    SYS_mprotect,
    SYS_rt_sigreturn,
    SYS_rt_sigsuspend,
    SYS_set_robust_list,
    SYS_set_tid_address,
    SYS_rseq,
    SYS_membarrier,
    SYS_mlock,
    SYS_munlock,
    SYS_msync,
    SYS_utimensat,
    SYS_futimesat,
    SYS_setpriority,
    SYS_getpriority,
    SYS_personality,
    SYS_sync,
    SYS_setrlimit,
    SYS_fork,
    SYS_vfork,
    SYS_execve,
    SYS_execveat,
    SYS_pidfd_open,
    SYS_inotify_init1,
    SYS_brk,
    SYS_mmap,
    SYS_munmap,
    SYS_mremap,
    SYS_madvise,
    SYS_shmget,
    SYS_shmat,
    SYS_shmdt,
    SYS_memfd_create,
];

/// System calls that may wait for another thread or process, apart from those of [`may_wait`] with certain arguments.
const WAITS: &[c_long] = &[
    SYS_wait4,
    SYS_waitid,
    SYS_read,
    SYS_readv,
    SYS_write,
    SYS_writev,
    SYS_recvfrom,
    SYS_recvmsg,
    SYS_recvmmsg,
    SYS_sendto,
    SYS_sendmsg,
    SYS_accept,
    SYS_accept4,
    SYS_poll,
    SYS_ppoll,
    SYS_select,
    SYS_pselect6,
    SYS_epoll_wait,
    SYS_epoll_pwait,
    SYS_semop,
    SYS_semtimedop,
    SYS_msgsnd,
    SYS_msgrcv,
    SYS_mq_timedsend,
    SYS_mq_timedreceive,
    SYS_flock,
    SYS_rt_sigtimedwait,
    SYS_rt_sigsuspend,
    SYS_pause,
    SYS_connect,
    SYS_preadv,
    SYS_preadv2,
    SYS_pwritev,
    SYS_pwritev2,
    SYS_sendfile,
    SYS_splice,
    SYS_tee,
    SYS_sendmmsg,
    SYS_epoll_pwait2,
];

/// Returns true if a system call may have waited for another thread or process.
pub fn may_wait(number: c_long, arguments: &[u64; 6]) -> bool {
    match number {
        libc::SYS_futex => matches!(
            arguments[1] as c_int & !(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME),
            FUTEX_WAIT | FUTEX_WAIT_BITSET | FUTEX_WAIT_REQUEUE_PI | FUTEX_LOCK_PI | FUTEX_LOCK_PI2
        ),
        libc::SYS_fcntl => matches!(arguments[1] as c_int, F_SETLKW | F_OFD_SETLKW),
        _ => WAITS.contains(&number),
    }
}

/// `ioctl` requests that write at most one small structure.
const SMALL_IOCTLS: &[u64] =
    &[TCGETS, TCSETS, TCSETSW, TCSETSF, TIOCGWINSZ, TIOCSWINSZ, TIOCGPGRP, TIOCSPGRP, FIONREAD, FIONBIO, FIOCLEX];
const SMALL_IOCTL_BYTES: u64 = 64;
/// Most buffers that the kernel accepts in one call (`UIO_MAXIOV`).
const VECTORS: u64 = 1024;

/// Memory that a system call may have written.
pub enum WrittenMemory {
    /// Parts of memory, by address and bytes.
    Parts(Vec<(u64, u64)>),
    /// Any memory of the process.
    Anything,
}

/// Returns the memory of the process that a call may have written.
pub fn written(number: i64, arguments: &[u64; 6], returned: i64) -> WrittenMemory {
    if number == SYS_ioctl && SMALL_IOCTLS.contains(&arguments[1]) {
        return WrittenMemory::Parts(vec![(arguments[2], SMALL_IOCTL_BYTES)]);
    }
    let Some((_, spans)) = WRITES.iter().find(|(numbers, _)| numbers.contains(&number)) else {
        return WrittenMemory::Anything;
    };
    let mut parts = Vec::new();
    spans.iter().for_each(|span| add_parts(&mut parts, *span, arguments, returned));
    WrittenMemory::Parts(parts)
}

fn add_parts(parts: &mut Vec<(u64, u64)>, span: WrittenArgument, arguments: &[u64; 6], returned: i64) {
    // A failed call returns a small negative number.
    let count = u64::try_from(returned).unwrap_or(0);
    match span {
        Fixed(at, bytes) => parts.push((arguments[at], bytes)),
        Returned(at) => parts.push((arguments[at], count)),
        Entries(at, bytes) => parts.push((arguments[at], count.saturating_mul(bytes))),
        Counted(at, times, bytes) => parts.push((arguments[at], arguments[times].saturating_mul(bytes))),
        // A successful call has read the array or the header, so they are mapped.
        Vectors(at) if returned > 0 => add_vectors(parts, arguments[at], arguments[at + 1]),
        Message(at) if returned >= 0 => add_message(parts, arguments[at], MESSAGE_BYTES),
        Messages(at) => {
            let received = count.min(VECTORS);
            (0..received).for_each(|n| add_message(parts, arguments[at] + MESSAGES_STRIDE * n, MESSAGES_STRIDE));
        }
        Vectors(_) | Message(_) => {}
    }
}

/// Bytes of a `msghdr`, and of a `mmsghdr` that contains one and its length.
const MESSAGE_BYTES: u64 = 56;
const MESSAGES_STRIDE: u64 = 64;

/// Adds a `msghdr`, in a structure of this length, and all buffers that it points to. The call must have read it.
fn add_message(parts: &mut Vec<(u64, u64)>, at: u64, bytes: u64) {
    // SAFETY: this is the program's `msghdr`, mapped as stated above.
    let [name, name_bytes, vectors, count, control, control_bytes, _] = unsafe { guest::<[u64; 7]>(at) };
    parts.extend([(at, bytes), (name, name_bytes & 0xffff_ffff), (control, control_bytes)]);
    add_vectors(parts, vectors, count);
}

/// Adds the buffers of the first `count` entries of an `iovec` array, which must be readable.
fn add_vectors(parts: &mut Vec<(u64, u64)>, array: u64, count: u64) {
    for n in 0..count.min(VECTORS) {
        // SAFETY: this is entry `n` of the program's array; the caller vouches for the array.
        let [base, bytes] = unsafe { guest::<[u64; 2]>(array + 16 * n) };
        parts.push((base, bytes));
    }
}
