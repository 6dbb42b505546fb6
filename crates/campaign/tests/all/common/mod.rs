//! Shared parts of the tests of timed memories: a machine around a scheme.

pub mod crowd;
pub mod holding;
pub mod lost;
pub mod shares;
pub mod swept;

use casemate_campaign::victim::with_tiny_caches;
use machine::channel::Channel;
use machine::dram::DramConfig;
use machine::memory::{MemorySystem, WordOrder};
use proptest::prelude::ProptestConfig;
use protection::design::Parts;
use protection::execution::{CipherEngine, CounterTags, Engine, Engines, OverflowLimits, Receiver, TimedMemory};
use protection::scheme::Scheme;
use sim::Executor;
use std::rc::Rc;
use units::{Bytes, Duration, Time};

/// Lines of data: as many as the victims of campaigns have, so that a tree stores three levels.
pub const DATA_LINES: u64 = casemate_campaign::victim::DATA_LINES;

/// Number of cases on every change; PROPTEST_CASES requests more, for example by night.
pub fn cases(usual: u32) -> ProptestConfig {
    let default = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    if std::env::var_os("PROPTEST_CASES").is_some() { default } else { ProptestConfig { cases: usual, ..default } }
}

/// Returns the parts of a design with its caches, with tiny ones or with the tiniest.
pub fn with_caches(parts: &Parts, which: u64) -> Parts {
    match which % 3 {
        0 => parts.clone(),
        1 => with_tiny_caches(parts),
        // Caches of one line each: no fetched line stays for the next access.
        _ => parts.with_caches_of(Bytes(64), 1),
    }
}

/// A timed memory under a scheme.
pub struct Machine<R> {
    /// Executor of the machine's tasks.
    pub executor: Executor,
    /// Channel of the machine's memory.
    pub channel: Rc<Channel>,
    /// Memory of the machine.
    pub memory: Rc<TimedMemory>,
    /// Receiver of releases and faults.
    pub core: Rc<R>,
    /// Protection of the memory.
    pub scheme: Rc<Scheme>,
}

impl<R: Receiver + 'static> Machine<R> {
    /// Builds a machine, with the ledger of pads on.
    pub fn new(parts: &Parts, seed: u64, receiver: R) -> Machine<R> {
        Machine::limited(parts, seed, receiver, None)
    }

    /// Builds a machine with a memory that passes on words as they arrive.
    pub fn in_beats(scheme: Scheme, receiver: R) -> Machine<R> {
        Machine::in_beats_with(&engines(), scheme, receiver)
    }

    /// Builds a machine like `in_beats`, with these engines.
    pub fn in_beats_with(engines: &Engines, scheme: Scheme, receiver: R) -> Machine<R> {
        Machine::built(engines, scheme, receiver, |memory| memory.handing_on(WordOrder::CriticalFirst))
    }

    /// Builds a machine with these limits of concurrent re-encryption.
    pub fn limited(parts: &Parts, seed: u64, receiver: R, limits: Option<OverflowLimits>) -> Machine<R> {
        let machine = Machine::built(&engines(), parts.build(DATA_LINES, seed).unwrap(), receiver, |memory| memory);
        let Machine { memory, .. } = machine;
        let memory = Rc::into_inner(memory).unwrap().with_one_port(parts.caches.unified.is_some());
        let memory = match limits {
            Some(limits) => memory.with_overflows(limits),
            None => memory,
        };
        Machine { memory: Rc::new(memory), ..machine }
    }

    fn built(
        engines: &Engines,
        scheme: Scheme,
        receiver: R,
        change: impl FnOnce(MemorySystem) -> MemorySystem,
    ) -> Machine<R> {
        let executor = Executor::new();
        let channel = Channel::start(executor.clock(), DramConfig::ddr4_3200());
        let (shape, core) = (scheme.layout().shape(), Rc::new(receiver));
        let channels = change(channel.clone().into());
        let memory = TimedMemory::new(executor.clock(), channels, shape, engines, true, core.clone());
        Machine { executor, channel, memory: Rc::new(memory), core, scheme: Rc::new(scheme) }
    }

    /// Runs until `done`, for at most `limit` of simulated time; returns whether `done` was reached. DRAM refreshes for
    /// ever, so in a deadlock time passes and no task finishes.
    pub fn run(&mut self, limit: Duration, done: impl Fn() -> bool) -> bool {
        let clock = self.executor.clock().clone();
        let end: Time = clock.now() + limit;
        self.executor.run_until(|| done() || clock.now() > end) && done()
    }
}

/// Engines of all tests that need no special ones.
pub fn engines() -> Engines {
    let engine = |units, latency_ns, interval_ns| Engine { units, latency_ns, interval_ns };
    Engines {
        aes: engine(2, 10.0, 0.5).into(),
        tdes: Some(CipherEngine { decrypt_latency_ns: Some(17.0), ..engine(3, 15.0, 0.5).into() }),
        mac: engine(1, 7.5, 1.0),
        hash: engine(1, 12.0, 2.0),
        metadata_cache: engine(1, 1.0, 0.5),
        counter_tags: CounterTags::Hash,
        counter_decode_ns: None,
        candidates_ns: None,
        xor_ns: None,
    }
}
