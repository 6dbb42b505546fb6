//! A core that runs a program until power fails: the path of its stores to memory, and the stores that are durable at
//! the failure.
//!
//! * With a **persist buffer** and with **durable caches**, stores are durable in program order, flushed or not.
//! * At the controller under **strict** persistency each store goes to memory in program order; flushes and fences have no
//!   effect.
//! * Under **epoch** persistency, and in designs without durability, stores stay in caches. The core writes a line when the
//!   program flushes it or when the cache evicts it, which may be at any time. A fence waits until all written lines are durable.
//!   The stores between two fences are an epoch, and the order within it is open.
//!
//! A loss of power discards the work that the controller has not completed; the battery of a persist buffer or of caches
//! completes it.

use super::script::ScriptStep;
use crate::crash::bench::{Bench, BenchVerbs};
use crate::crash::holder::Holder;
use crate::crash::shown::Changes;
use crate::crash::states;
use crate::crash::storing;
use protection::domain::{Registers, WritePendingQueue};
use protection::ledger::Ledger;
use protection::media::Media;
use protection::persistence::{Order, Persistence};
use protection::scheme::{ObservedState, Observers, PersistBufferHandle, Scheme};
use sim::Clock;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use units::random::Random;
use units::{Duration, Line, LineAddr};

/// Time from one step to the next.
const BETWEEN_STEPS: Duration = Duration::from_ns(10);
/// Interval at which a waiting core checks whether it can continue.
const A_MOMENT: Duration = Duration::from_ns(1);
/// Maximum number of a core's writes in progress at the controller.
const WRITES_MAX: usize = 8;
/// Stores per eviction of a dirty line, on average.
const STORES_PER_EVICTION: u64 = 12;

/// Progress of a program: its durable steps, and those that have begun.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reached {
    /// Least number of durable steps.
    pub durable: usize,
    /// Greatest number of steps that have begun.
    pub begun: usize,
}

/// State that outlives power, and the keystream that an attacker has seen until then.
pub struct DurableState {
    pub media: Media,
    pub registers: Registers,
    pub shown: Ledger,
}

impl DurableState {
    /// Captures the current state of a bench.
    fn of(bench: &Bench) -> DurableState {
        let (media, registers) = (bench.memory.media().borrow().clone(), bench.memory.registers());
        DurableState { media, registers, shown: bench.memory.ledger().unwrap_or_default() }
    }
}

/// A core at work.
pub enum Core {
    Held { holder: Rc<dyn Holder>, stores: Vec<usize> },
    Controlled { caches: Rc<ControllerCore>, start: Box<DurableState> },
}

/// A core in a design where stores are durable at the controller, or not at all.
pub struct ControllerCore {
    clock: Clock,
    scheme: Rc<Scheme>,
    verbs: Rc<BenchVerbs>,
    is_strict: bool,
    dirty: RefCell<BTreeMap<LineAddr, Line>>,
    under_way: Cell<usize>,
    /// Number of steps that have begun, and of durable ones.
    begun: Cell<usize>,
    durable: Cell<usize>,
    ended: Cell<bool>,
}

impl Core {
    /// Starts the core on these steps.
    pub fn start(bench: &Bench, persistence: &Persistence, steps: &[ScriptStep], random: &mut Random) -> Core {
        if persistence.has_battery() {
            let stores = steps.iter().enumerate().filter_map(|(number, step)| Some((number, step.stored()?)));
            let (stores, contents) = stores.unzip();
            return Core::Held { holder: storing::feed(bench, persistence, contents, random), stores };
        }
        let start = DurableState::of(bench);
        let caches = Rc::new(ControllerCore {
            clock: bench.executor.clock().clone(),
            scheme: bench.scheme.clone(),
            verbs: bench.verbs.clone(),
            is_strict: matches!(persistence.order, Order::Strict | Order::Pipelined),
            dirty: RefCell::default(),
            under_way: Cell::new(0),
            begun: Cell::new(0),
            durable: Cell::new(0),
            ended: Cell::new(false),
        });
        bench.executor.clock().spawn(caches.clone().run(steps.to_vec(), random.clone()));
        Core::Controlled { caches, start: Box::new(start) }
    }

    /// Number of steps that have certainly begun.
    pub fn begun(&self) -> usize {
        match self {
            Core::Held { holder, stores } => behind(stores, holder.went_on()),
            Core::Controlled { caches, .. } => caches.begun.get(),
        }
    }

    /// Returns true if the core has no work left.
    pub fn is_idle(&self) -> bool {
        match self {
            Core::Held { holder, stores } => holder.is_idle_after(stores.len()),
            Core::Controlled { caches, .. } => caches.ended.get() && caches.under_way.get() == 0,
        }
    }

    /// Crashes the program while the machine continues. The persist buffer drains before the machine admits the program's
    /// recovery. Returns the progress, and the state of memory after the drain.
    pub fn crash(&self, bench: &mut Bench) -> Option<(Reached, DurableState)> {
        let Core::Held { holder, stores } = self else { return None };
        holder.stop(bench);
        let (scheme, verbs, seen) = (bench.scheme.clone(), bench.verbs.clone(), Rc::new(Cell::new(None)));
        let note = seen.clone();
        bench.run(
            async move { note.set(Some(PersistBufferHandle::of(&scheme).admit(&*verbs, Observers::Blocked).await)) },
        );
        assert_eq!(seen.get(), Some(ObservedState::Consistent), "an observer is admitted when the drain is complete");
        let steps = behind(stores, holder.taken().len());
        Some((Reached { durable: steps, begun: steps }, DurableState::of(bench)))
    }

    /// Cuts the power; returns the progress of the program and the state of memory.
    pub fn lose_power(self, mut bench: Bench, random: &mut Random) -> (Reached, DurableState) {
        match self {
            Core::Held { holder, stores } => {
                holder.die(&mut bench);
                let steps = behind(&stores, holder.taken().len());
                let media = bench.memory.media().replace(Media::new(0));
                (Reached { durable: steps, begun: steps }, DurableState { media, ..DurableState::of(&bench) })
            }
            Core::Controlled { caches, start } => {
                let changes = Changes::among(bench.records.take_operations());
                let reached = Reached { durable: caches.durable.get(), begun: caches.begun.get() };
                // Keystream of an incomplete tuple has not left the chip.
                let shown = changes.shown_at_last(&start.shown, WritePendingQueue::Inside);
                let (media, registers) = states::left_behind(&changes, start.media, start.registers, random);
                (reached, DurableState { media, registers, shown })
            }
        }
    }
}

/// Returns the index of the step behind the first `count` stores.
fn behind(stores: &[usize], count: usize) -> usize {
    count.checked_sub(1).map_or(0, |last| stores[last] + 1)
}

impl ControllerCore {
    async fn run(self: Rc<Self>, steps: Vec<ScriptStep>, mut random: Random) {
        for (number, step) in steps.into_iter().enumerate() {
            self.begun.set(number + 1);
            match step {
                ScriptStep::Store(line, content) if self.is_strict => {
                    self.wait_for(WRITES_MAX).await;
                    self.write(line, content, number + 1);
                }
                ScriptStep::Flush(_) | ScriptStep::Fence if self.is_strict => {}
                ScriptStep::Store(line, content) => {
                    self.dirty.borrow_mut().insert(line, content);
                    if random.below(STORES_PER_EVICTION) == 0 {
                        let dirty: Vec<LineAddr> = self.dirty.borrow().keys().copied().collect();
                        random.pick(&dirty).into_iter().for_each(|line| self.write_back(line));
                    }
                }
                ScriptStep::Flush(line) => self.write_back(line),
                ScriptStep::Fence => {
                    self.wait_for(1).await;
                    self.durable.set(number + 1);
                }
            }
            self.clock.sleep(BETWEEN_STEPS).await;
        }
        self.ended.set(true);
    }

    /// Waits until fewer writes than `fewer_than` are in progress.
    async fn wait_for(&self, fewer_than: usize) {
        while self.under_way.get() >= fewer_than {
            self.clock.sleep(A_MOMENT).await;
        }
    }

    fn write_back(self: &Rc<Self>, line: LineAddr) {
        let dirty = self.dirty.borrow_mut().remove(&line);
        if let Some(content) = dirty {
            self.write(line, content, 0);
        }
    }

    /// Sends a line to memory. When the write completes, at least `steps` steps are durable: writes complete in the order in
    /// which they are sent.
    fn write(self: &Rc<Self>, line: LineAddr, content: Line, steps: usize) {
        self.under_way.set(self.under_way.get() + 1);
        let this = self.clone();
        self.clock.spawn(async move {
            this.scheme.write(&*this.verbs, line, &content).await;
            this.under_way.set(this.under_way.get() - 1);
            this.durable.set(this.durable.get().max(steps));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crash::workload::LINES;
    use protection::planted::PlantedBug;

    /// Returns a machine of a design and its idle core after these steps.
    fn idle_after(under: &str, steps: &[ScriptStep]) -> (Bench, Core, Random) {
        let parts = catalogue::design(under).unwrap().parts;
        let (mut bench, mut random) = (Bench::new(&parts, 1, PlantedBug::NONE), Random::new(1));
        let core = Core::start(&bench, &parts.persistence, steps, &mut random);
        bench.run_until(|| core.is_idle());
        (bench, core, random)
    }

    #[test]
    fn under_epoch_persistency_only_stores_flushed_before_a_fence_are_certainly_durable() {
        let store = |line| ScriptStep::Store(line, [1; 64]);
        let [flushed, later] = [LINES[0], LINES[1]];
        let reached = |steps: &[ScriptStep]| {
            let (bench, core, mut random) = idle_after("plp-coalesced", steps);
            core.lose_power(bench, &mut random).0
        };
        let epoch = [store(flushed), ScriptStep::Flush(flushed), ScriptStep::Fence, store(later)];
        assert_eq!(reached(&epoch), Reached { durable: 3, begun: 4 });
        assert_eq!(
            reached(&[store(flushed), ScriptStep::Flush(flushed), store(later)]),
            Reached { durable: 0, begun: 3 }
        );
    }

    /// A buffer that has accepted two stores. Its core has not continued after the second.
    struct SecondEnters;

    impl Holder for SecondEnters {
        fn went_on(&self) -> usize {
            1
        }

        fn taken(&self) -> Vec<usize> {
            vec![0, 1]
        }

        fn span(&self, _: usize) -> (usize, usize) {
            (0, 0)
        }

        fn is_idle_after(&self, _: usize) -> bool {
            true
        }

        fn resident(&self) -> Vec<LineAddr> {
            Vec::new()
        }

        fn stop(&self, _: &mut Bench) {}

        fn die(&self, _: &mut Bench) {}
    }

    #[test]
    fn an_accepted_store_is_durable_before_its_core_continues() {
        let parts = catalogue::design("secpb-nogap").unwrap().parts;
        let bench = || Bench::new(&parts, 1, PlantedBug::NONE);
        let core = || Core::Held { holder: Rc::new(SecondEnters), stores: vec![0, 3, 5] };
        assert_eq!(core().begun(), 1);
        let expected = Reached { durable: 4, begun: 4 };
        assert_eq!(core().lose_power(bench(), &mut Random::new(1)).0, expected);
        assert_eq!(core().crash(&mut bench()).unwrap().0, expected);
    }
}
