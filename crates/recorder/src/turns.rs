//! Turns of strands: asks for the [baton](Baton) before a strand executes instructions, and hands it over when another
//! strand is due.
//!
//! A strand that waits does not execute code for QEMU, which can therefore free all translated code meanwhile. So the
//! strand leaves its block before the first instruction, and runs it again after the wait.

use crate::blocks::{CodeBlock, EntryEffect};
use crate::qemu::guest;
use crate::registers::registers;
use crate::syscalls;
use crate::thread::{SystemCall, Thread};
use libc::{c_int, c_short};
use wire::ring::{Baton, BatonState, Ring};
use wire::word::{self, Control};

/// Waits for the baton before a block, if the strand lacks it or another strand is due. Does not return in these cases:
/// QEMU runs the block again.
#[cold]
pub fn before_block(ring: &Ring, thread: &mut Thread, vcpu: u32, block: &CodeBlock) {
    let baton = &ring.between_processes().baton;
    if !baton.is_shared() {
        return;
    }
    let strand = thread.strand();
    let has_begun = std::mem::replace(&mut thread.has_begun, true);
    if !(has_begun && baton.is_held_by(strand)) && request(baton, thread, None) == BatonState::Queued {
        wait_before(baton, thread, vcpu, block);
    }
    baton.await_leaving();
    // A word of the handler's first block may withdraw instructions of the block before.
    let is_handler = block.entry() == EntryEffect::FaultHandler as u8;
    if !block.may_pause || is_handler || thread.unfenced.steps > 0 || !baton.is_due(thread.quota.clock()) {
        return;
    }
    thread.redraw(ring);
    if thread.recording {
        thread.push(ring, &[word::control(Control::Turn, 0, block.address())]);
    }
    thread.publish(ring);
    if baton.hand_over(strand, thread.quota.clock()) {
        wait_before(baton, thread, vcpu, block);
    }
}

fn wait_before(baton: &Baton, thread: &Thread, vcpu: u32, block: &CodeBlock) {
    let strand = thread.strand();
    match registers() {
        Some(registers) => registers.wait_before(vcpu, block.address(), || baton.wait(strand)),
        None => {
            crate::fail("this QEMU does not export cpu_exec_end, which the recorder needs for programs with threads")
        }
    }
}

fn request(baton: &Baton, thread: &mut Thread, word: Option<u64>) -> BatonState {
    let (state, clock) = baton.request(thread.strand(), thread.quota.clock(), word);
    thread.quota.set_clock(clock);
    state
}

/// Waits for the baton in a strand that has just begun as the copy of a process.
pub fn begin(ring: &Ring, thread: &mut Thread) {
    let baton = &ring.between_processes().baton;
    if request(baton, thread, None) == BatonState::Queued {
        baton.wait(thread.strand());
    }
    baton.await_leaving();
}

/// Notes a system call that the strand is about to make. Calls that start a strand begin the turns of strands.
pub fn note_call(ring: &Ring, thread: &Thread, number: i64) {
    let (baton, clock) = (&ring.between_processes().baton, thread.quota.clock());
    if matches!(number, libc::SYS_fork | libc::SYS_vfork | libc::SYS_clone | libc::SYS_clone3) {
        baton.share(thread.strand(), clock);
    }
    if baton.is_held_by(thread.strand()) {
        baton.begin_call(clock);
    }
}

/// Gives the baton up before a system call that may wait for another strand.
pub fn before_call(ring: &Ring, thread: &mut Thread) {
    let baton = &ring.between_processes().baton;
    let SystemCall { number, arguments, .. } = thread.syscall;
    if baton.is_shared() && baton.is_held_by(thread.strand()) && will_wait(number, &arguments) {
        thread.redraw(ring);
        thread.publish(ring);
        baton.give_up(thread.strand(), thread.quota.clock());
    }
}

/// Requests the baton after a system call, and waits for it. Notes the strands that the call has woken.
pub fn after_call(ring: &Ring, thread: &mut Thread, returned: i64) {
    let baton = &ring.between_processes().baton;
    if !baton.is_shared() {
        return;
    }
    let SystemCall { number, arguments, .. } = thread.syscall;
    let is_futex = number == libc::SYS_futex;
    let operation = arguments[1] as c_int & libc::FUTEX_CMD_MASK;
    if baton.is_held_by(thread.strand()) {
        baton.end_call();
        if is_futex && matches!(operation, libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET) && returned > 0 {
            baton.woke(futex_word(&arguments), returned as u32, thread.quota.clock());
        }
        return;
    }
    let was_woken = is_futex && returned == 0;
    if request(baton, thread, was_woken.then(|| futex_word(&arguments))) == BatonState::Queued {
        baton.wait(thread.strand());
    }
    baton.await_leaving();
}

/// Gives the baton up at the end of a strand.
pub fn end(ring: &Ring, thread: &Thread) {
    ring.between_processes().baton.leave(thread.strand(), thread.quota.clock());
}

/// A number for the word of a futex. Processes may map a shared one at different addresses, but at one offset in a page.
fn futex_word(arguments: &[u64; 6]) -> u64 {
    match arguments[1] as c_int & libc::FUTEX_PRIVATE_FLAG {
        0 => arguments[0] & 0xfff | 1 << 63,
        _ => arguments[0] ^ u64::from(std::process::id()) << 47,
    }
}

/// Returns true if a system call may wait, as far as its arguments show.
fn will_wait(number: i64, arguments: &[u64; 6]) -> bool {
    let [first, second, third, fourth, ..] = *arguments;
    match number {
        libc::SYS_nanosleep | libc::SYS_clock_nanosleep => true,
        _ if !syscalls::may_wait(number, arguments) => false,
        libc::SYS_futex => match second as c_int & libc::FUTEX_CMD_MASK {
            // SAFETY: the program passes the word to the kernel in this call. A word that is not mapped ends the program anyway.
            libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => unsafe { guest::<u32>(first) == third as u32 },
            _ => true,
        },
        libc::SYS_wait4 => third as c_int & libc::WNOHANG == 0,
        libc::SYS_waitid => fourth as c_int & libc::WNOHANG == 0,
        libc::SYS_poll => third != 0,
        libc::SYS_epoll_wait | libc::SYS_epoll_pwait => fourth != 0,
        libc::SYS_read
        | libc::SYS_readv
        | libc::SYS_recvfrom
        | libc::SYS_recvmsg
        | libc::SYS_accept
        | libc::SYS_accept4
        | libc::SYS_preadv => !is_ready(first as c_int, libc::POLLIN),
        libc::SYS_write | libc::SYS_writev | libc::SYS_sendto | libc::SYS_sendmsg | libc::SYS_pwritev => {
            !is_ready(first as c_int, libc::POLLOUT)
        }
        _ => true,
    }
}

/// Returns true if a file is ready for reading or writing, or not open.
fn is_ready(file: c_int, events: c_short) -> bool {
    let mut polled = libc::pollfd { fd: file, events, revents: 0 };
    // SAFETY: the structure is ours, and the call does not wait.
    unsafe { libc::poll(&raw mut polled, 1, 0) != 0 }
}
