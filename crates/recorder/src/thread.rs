//! One thread of the program: its chunk in the making, and whether it is being recorded at the moment.
//!
//! Recording is switched on and off only where a block is entered, so that a block is recorded wholly or not at all.

use crate::blocks::Block;
use crate::position::{Place, Position};
use crate::unfenced::Unfenced;
use wire::ring::{CHUNK_WORDS, Phase, Ring};
use wire::word::{self, Control};

/// The exit status of a process that is not wanted any more.
const UNWANTED: libc::c_int = 125;

/// A system call that a thread has made.
#[derive(Clone, Copy, Default)]
pub struct SystemCall {
    /// Its number.
    pub number: i64,
    /// What it was called with.
    pub arguments: [u64; 6],
    /// If it copies the process, which of its copies that is.
    pub fork: u32,
}

/// What becomes of the instructions that a thread has drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Drawn {
    /// They are recorded.
    Recorded,
    /// They are let pass.
    Unrecorded,
}

/// A thread's state. Only the thread itself touches it, and at the very end the one that ends the process.
pub struct Thread {
    /// Whether the current block is recorded.
    pub recording: bool,
    /// Whether a system call was made since the last block was entered.
    pub after_syscall: bool,
    /// How far it is in the current block.
    pub position: Position,
    /// The system call that is under way.
    pub syscall: SystemCall,
    /// What it has flushed.
    pub unfenced: Unfenced,
    process: u32,
    number: u32,
    phase: Phase,
    /// Drawn instructions that are left; the last block may have overdrawn.
    quota: i64,
    told_blocks: Vec<u64>,
    words: Vec<u64>,
}

impl Thread {
    /// Thread `number` of image `process`.
    pub fn new(process: u32, number: u32) -> Thread {
        let mut thread = Thread {
            recording: false,
            after_syscall: false,
            position: Position::default(),
            syscall: SystemCall::default(),
            unfenced: Unfenced::default(),
            process,
            number,
            phase: Phase::Outside,
            quota: 0,
            told_blocks: Vec::new(),
            words: Vec::with_capacity(CHUNK_WORDS),
        };
        if number > 0 {
            thread.words.push(word::control(Control::Thread, 0, 0));
        }
        thread
    }

    /// Whether all drawn instructions are executed.
    #[inline]
    pub fn must_draw(&self) -> bool {
        self.quota <= 0
    }

    /// A block is entered: counts its instructions.
    #[inline]
    pub fn advance(&mut self, block: &Block) {
        self.quota -= i64::from(block.instructions);
        self.position.enter(block);
    }

    /// Whether an access by this instruction is the program's, and recorded. When QEMU saves the registers for a signal
    /// handler it may claim that some instruction executed earlier has stored them.
    #[inline]
    pub fn is_at(&self, place: Place) -> bool {
        self.recording && self.position.can_reach(place)
    }

    /// Draws instructions, and records them or not as the ring says.
    #[cold]
    pub fn draw(&mut self, ring: &Ring) -> Drawn {
        let (count, phase) = ring.draw();
        if phase == Phase::Done {
            self.publish(ring);
            ring.reach_limit();
        }
        self.quota = if self.phase == phase { self.quota + count as i64 } else { count as i64 };
        self.phase = phase;
        self.recording = phase == Phase::Record;
        if self.recording { Drawn::Recorded } else { Drawn::Unrecorded }
    }

    /// Forgets what is drawn, so that the next block asks anew.
    pub fn redraw(&mut self, ring: &Ring) {
        if self.quota > 0 && matches!(self.phase, Phase::Pass | Phase::Record) {
            ring.give_back(self.quota as u64);
        }
        self.quota = 0;
    }

    /// Whether this thread has sent the simulator this block.
    #[inline]
    pub fn has_told(&self, block: &Block) -> bool {
        let word = self.told_blocks.get(block.id as usize / 64);
        word.is_some_and(|word| word >> (block.id % 64) & 1 != 0)
    }

    /// Sends the simulator a block. Every thread does this for itself: another's chunk may be published later.
    pub fn tell(&mut self, ring: &Ring, block: &Block) {
        let word = block.id as usize / 64;
        if self.told_blocks.len() <= word {
            self.told_blocks.resize(2 * word + 64, 0);
        }
        self.told_blocks[word] |= 1 << (block.id % 64);
        self.push(ring, block.record());
    }

    /// Adds one record.
    #[inline]
    pub fn push(&mut self, ring: &Ring, record: &[u64]) {
        if self.words.len() + record.len() > CHUNK_WORDS {
            self.publish(ring);
        }
        self.words.extend_from_slice(record);
    }

    /// Makes room for so many words, which are then published together.
    pub fn make_room(&mut self, ring: &Ring, words: usize) {
        if self.words.len() + words > CHUNK_WORDS {
            self.publish(ring);
        }
    }

    /// Publishes what there is. If nothing more is wanted the process ends here: the simulator is about to kill it, or has
    /// itself been killed.
    #[cold]
    pub fn publish(&mut self, ring: &Ring) {
        let refused = !self.words.is_empty() && ring.publish(self.process, self.number, &self.words).is_err();
        if refused || ring.is_stopped() {
            // SAFETY: ends the process without running anything of QEMU's or the program's.
            unsafe { libc::_exit(UNWANTED) };
        }
        self.words.clear();
    }

    /// The thread executes nothing more.
    pub fn end(&mut self, ring: &Ring) {
        self.redraw(ring);
        if self.phase != Phase::Done {
            self.push(ring, &[word::control(Control::Ended, 0, 0)]);
        }
        self.publish(ring);
        self.recording = false;
        self.phase = Phase::Done;
        self.quota = i64::MAX;
    }
}
