//! One thread of the program: the batch that it is filling, and whether the thread is being recorded at the moment.
//!
//! Recording starts and stops only at the entry of a block, so that a block is recorded wholly or not at all.

use crate::blocks::CodeBlock;
use crate::position::{InstructionId, Position};
use crate::quota::Quota;
use crate::unfenced::Unfenced;
use wire::ring::{BATCH_WORDS, Phase, Ring, StrandId};
use wire::word::{self, Control};

/// Exit status of a process that the simulator does not want any more.
const UNWANTED: libc::c_int = 125;

/// A system call that a thread has made.
#[derive(Clone, Copy, Default)]
pub struct SystemCall {
    /// Number of the system call.
    pub number: i64,
    /// Arguments of the system call.
    pub arguments: [u64; 6],
    /// Number of the copy, if the call copies the process; else zero.
    pub fork: u32,
}

/// Treatment of the instructions that a thread has drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DrawOutcome {
    /// The thread records the instructions.
    Recorded,
    /// The thread executes the instructions unrecorded.
    Unrecorded,
}

/// State of a thread. Only the thread itself uses it, and at the very end the thread that ends the process.
pub struct Thread {
    /// True if the current block is recorded.
    pub recording: bool,
    /// True if the thread has made a system call since it entered the last block.
    pub after_syscall: bool,
    /// Progress of the thread in the current block.
    pub position: Position,
    /// The current system call, or the last one.
    pub syscall: SystemCall,
    /// Flushes since the last fence.
    pub unfenced: Unfenced,
    /// True if the thread has asked for the baton.
    pub has_begun: bool,
    /// Drawn instructions, and the thread's clock.
    pub quota: Quota,
    strand: StrandId,
    sent_blocks: Vec<u64>,
    words: Vec<u64>,
}

impl Thread {
    /// Creates thread `number` of image `process`.
    pub fn new(process: u32, number: u32) -> Thread {
        let mut thread = Thread {
            recording: false,
            after_syscall: false,
            position: Position::default(),
            syscall: SystemCall::default(),
            unfenced: Unfenced::default(),
            has_begun: false,
            quota: Quota::new(),
            strand: StrandId { process, thread: number },
            sent_blocks: Vec::new(),
            words: Vec::with_capacity(BATCH_WORDS),
        };
        if number > 0 {
            thread.words.push(word::control(Control::Thread, 0, 0));
        }
        thread
    }

    /// Returns the number of the thread and of its image.
    pub fn strand(&self) -> StrandId {
        self.strand
    }

    /// Returns true if the thread has executed all drawn instructions.
    #[inline]
    pub fn must_draw(&self) -> bool {
        self.quota.is_spent()
    }

    /// Enters a block, and counts its instructions.
    #[inline]
    pub fn advance(&mut self, block: &CodeBlock) {
        self.quota.spend(block.instructions);
        self.position.enter(block);
    }

    /// Returns true if an access by this instruction is the program's, and recorded. When QEMU saves the registers for
    /// a signal handler, it may attribute the stores to an instruction that was executed earlier.
    #[inline]
    pub fn is_at(&self, instruction: InstructionId) -> bool {
        self.recording && self.position.can_reach(instruction)
    }

    /// Draws instructions, and records them if the ring says so.
    #[cold]
    pub fn draw(&mut self, ring: &Ring) -> DrawOutcome {
        let (count, phase) = ring.draw();
        if phase == Phase::Done {
            self.publish(ring);
            ring.reach_limit();
        }
        self.quota.add(count, phase);
        self.recording = phase == Phase::Record;
        if self.recording { DrawOutcome::Recorded } else { DrawOutcome::Unrecorded }
    }

    /// Gives the remaining drawn instructions back, so that the next block draws again.
    pub fn redraw(&mut self, ring: &Ring) {
        self.quota.give_back(ring);
    }

    /// Returns true if this thread has sent the block to the simulator.
    #[inline]
    pub fn has_sent(&self, block: &CodeBlock) -> bool {
        let word = self.sent_blocks.get(block.id as usize / 64);
        word.is_some_and(|word| word >> (block.id % 64) & 1 != 0)
    }

    /// Sends a block to the simulator. Every thread does this separately: the batch of another thread may be published
    /// later.
    pub fn send_block(&mut self, ring: &Ring, block: &CodeBlock) {
        let word = block.id as usize / 64;
        if self.sent_blocks.len() <= word {
            self.sent_blocks.resize(2 * word + 64, 0);
        }
        self.sent_blocks[word] |= 1 << (block.id % 64);
        self.push(ring, block.record());
    }

    /// Adds one record to the thread's batch. If the record does not fit, publishes the batch first.
    #[inline]
    pub fn push(&mut self, ring: &Ring, record: &[u64]) {
        if self.words.len() + record.len() > BATCH_WORDS {
            self.publish(ring);
        }
        self.words.extend_from_slice(record);
    }

    /// Makes room for this number of words, so that they are published together.
    pub fn make_room(&mut self, ring: &Ring, words: usize) {
        if self.words.len() + words > BATCH_WORDS {
            self.publish(ring);
        }
    }

    /// Publishes the words of the thread. If the simulator wants no more words, the process ends here: the simulator is
    /// about to kill it, or has itself been killed.
    #[cold]
    pub fn publish(&mut self, ring: &Ring) {
        let refused =
            !self.words.is_empty() && ring.publish(self.strand.process, self.strand.thread, &self.words).is_err();
        if refused || ring.is_stopped() {
            // SAFETY: `_exit` ends the process without running code of QEMU or of the program.
            unsafe { libc::_exit(UNWANTED) };
        }
        self.words.clear();
    }

    /// Ends the batch after a wait for another strand, even if it has no words: so the next batch begins after the
    /// batches that the other strand has published before.
    pub fn end_wait(&mut self, ring: &Ring) {
        if self.words.is_empty() && self.recording {
            let _ = ring.publish(self.strand.process, self.strand.thread, &[]);
        }
        self.publish(ring);
    }

    /// Ends the thread, which executes no more instructions.
    pub fn end(&mut self, ring: &Ring) {
        self.redraw(ring);
        if self.quota.phase() != Phase::Done {
            self.push(ring, &[word::control(Control::Ended, 0, 0)]);
        }
        self.publish(ring);
        // The state of an ended thread stays, and a process may start many threads.
        (self.words, self.sent_blocks) = (Vec::new(), Vec::new());
        self.recording = false;
        self.quota.finish();
    }
}
