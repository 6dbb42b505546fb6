//! Bugs that appear when two accesses overlap. Each has a separate scene with two accesses, and the second begins a little later
//! each time.

use crate::common::{DATA_LINES, Machine};
use protection::counter::Age;
use protection::design::{CounterChoice, Parts};
use protection::execution::{OverflowLimits, Receiver, Timed};
use protection::planted::{Bug, PlantedBug};
use protection::scheme::{PersistBufferHandle, Scheme};
use protection::verbs::{Fault, MemoryVerbs, Plaintext, Role, Slot};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use units::{Duration, Line, LineAddr, ZERO_LINE};

/// Bugs that are caught here.
pub const BUGS: [Bug; 6] = [
    Bug::ContentBeforeLock,
    Bug::ValueWithoutLock,
    Bug::NewerLineMarkedClean,
    Bug::GroupedLineLockedAlone,
    Bug::StoredAfterQueue,
    Bug::RenewalLeavesCopies,
];

/// Number of delays of the second access.
const DELAYS: u64 = 60;
/// Longer than any scene lasts.
const LIMIT: Duration = Duration::from_ns(5_000_000);

/// Stores, wrong reads and faults of the cores.
#[derive(Default)]
struct Core {
    /// Content that each line must have: that of its last store, once the scheme has requested it.
    stored: RefCell<BTreeMap<LineAddr, Line>>,
    /// Lines that read otherwise.
    wrong: RefCell<Vec<LineAddr>>,
    faults: RefCell<Vec<Fault>>,
}

impl Core {
    /// Records the content of a store, which reads must return from now on.
    fn stores(&self, line: LineAddr, content: Line) -> Line {
        self.stored.borrow_mut().insert(line, content);
        content
    }
}

impl Receiver for Core {
    fn released(&self, line: LineAddr, text: &Plaintext) {
        if self.stored.borrow().get(&line) != Some(&text.bytes) {
            self.wrong.borrow_mut().push(line);
        }
    }

    fn fault(&self, fault: Fault) {
        self.faults.borrow_mut().push(fault);
    }

    fn start_up_content(&self, _: LineAddr) -> Line {
        ZERO_LINE
    }
}

/// A task of a scene, with its interface to the scheme.
struct Access {
    scheme: Rc<Scheme>,
    verbs: Timed,
    core: Rc<Core>,
}

impl Access {
    /// Writes a line. From the beginning of the write, a read of the old content is wrong.
    async fn write(&self, line: u64, content: u8) {
        let content = self.core.stores(LineAddr(line), [content; 64]);
        self.scheme.write(&self.verbs, LineAddr(line), &content).await;
    }

    async fn read(&self, line: u64) {
        self.scheme.read(&self.verbs, LineAddr(line)).await;
    }

    /// Puts a store into the persist buffer.
    async fn accept(&self, line: u64, content: u8) {
        let content = || self.core.stores(LineAddr(line), [content; 64]);
        PersistBufferHandle::of(&self.scheme).accept_when_taken(&self.verbs, LineAddr(line), content).await;
    }

    /// Drains an entry of the persist buffer.
    async fn drain(&self, line: u64) {
        PersistBufferHandle::of(&self.scheme).drain(&self.verbs, LineAddr(line)).await;
    }
}

type Task = Pin<Box<dyn Future<Output = ()>>>;

/// A machine on which accesses overlap.
struct Scene(Machine<Core>);

impl Scene {
    fn of(parts: &Parts, planted: PlantedBug) -> Scene {
        Scene::limited(parts, planted, None)
    }

    fn limited(parts: &Parts, planted: PlantedBug, limits: Option<OverflowLimits>) -> Scene {
        let machine = Machine::limited(parts, 1, Core::default(), limits);
        let memory = Rc::into_inner(machine.memory).unwrap().with_planted(planted);
        let scheme = Rc::new(parts.build_with(DATA_LINES, 1, planted).unwrap());
        Scene(Machine { memory: Rc::new(memory), scheme, ..machine })
    }

    /// Creates a task from its accesses.
    fn task<F: Future<Output = ()> + 'static>(&self, does: impl FnOnce(Access) -> F) -> Task {
        let (scheme, core) = (self.0.scheme.clone(), self.0.core.clone());
        Box::pin(does(Access { scheme, verbs: Timed::new(&self.0.memory), core }))
    }

    /// Runs tasks to their ends, each from its delay on.
    fn run(&mut self, tasks: Vec<(Duration, Task)>) {
        let (all, ended) = (tasks.len(), Rc::new(Cell::new(0)));
        for (delay, task) in tasks {
            let (clock, ended) = (self.0.executor.clock().clone(), ended.clone());
            self.0.executor.clock().spawn(async move {
                clock.sleep(delay).await;
                task.await;
                ended.set(ended.get() + 1);
            });
        }
        assert!(self.0.run(LIMIT, || ended.get() == all), "an access never ends");
    }

    /// Runs a single task to its end.
    fn alone<F: Future<Output = ()> + 'static>(&mut self, does: impl FnOnce(Access) -> F) {
        let task = self.task(does);
        self.run(vec![(Duration::ZERO, task)]);
    }

    /// Returns true if a line read otherwise than it was stored, or was refused.
    fn went_wrong(&self) -> bool {
        !self.0.core.wrong.borrow().is_empty() || !self.0.core.faults.borrow().is_empty()
    }
}

fn design(name: &str) -> Parts {
    catalogue::design(name).unwrap().parts
}

/// Checks that a scene never fails without its bug, and more than once with it. Its second access begins `each` ns later every
/// time.
fn caught(bug: Bug, each: u64, goes_wrong: impl Fn(PlantedBug, Duration) -> bool) {
    let wrong =
        |planted, each| (0..DELAYS).filter(|delay| goes_wrong(planted, Duration::from_ns(delay * each))).count();
    assert_eq!(wrong(PlantedBug::NONE, each), 0, "{bug:?}: the scene without it");
    assert!(wrong(PlantedBug::new(bug), each) > 1, "{bug:?}");
    // The other bugs do not affect the scene.
    for other in BUGS.into_iter().filter(|other| *other != bug) {
        assert_eq!(wrong(PlantedBug::new(other), 7 * each), 0, "{other:?} in the scene of {bug:?}");
    }
}

/// A line is read from memory while a store to it arrives.
#[test]
fn a_read_concurrent_with_an_accepted_store_returns_the_stored_data() {
    caught(Bug::ContentBeforeLock, 1, |planted, delay| {
        let mut scene = Scene::of(&design("secpb-cobcm"), planted);
        scene.alone(async |access| {
            access.accept(5, 1).await;
            access.drain(5).await;
        });
        let read = scene.task(async |access| access.read(5).await);
        let store = scene.task(async |access| access.accept(5, 2).await);
        scene.run(vec![(Duration::ZERO, read), (delay, store)]);
        scene.went_wrong()
    });
}

/// An entry drains while a store to its line arrives.
#[test]
fn early_ciphertext_and_tag_follow_a_store_that_arrives_during_the_drain() {
    caught(Bug::ValueWithoutLock, 1, |planted, delay| {
        let mut scene = Scene::of(&design("secpb-cm"), planted);
        scene.alone(async |access| access.accept(5, 1).await);
        let drain = scene.task(async |access| access.drain(5).await);
        let store = scene.task(async |access| access.accept(5, 2).await);
        scene.run(vec![(Duration::ZERO, drain), (delay, store)]);
        scene.alone(async |access| {
            access.drain(5).await;
            access.read(5).await;
        });
        scene.went_wrong()
    });
}

/// While an entry drains, a store to another line advances their counters. The counters then lose their entries in both caches.
#[test]
fn counters_advanced_during_a_drain_remain_dirty_in_the_metadata_cache() {
    let mut parts = design("secpb-bcm");
    parts.caches.counters_in_llc = true;
    caught(Bug::NewerLineMarkedClean, 5, |planted, delay| {
        let mut scene = Scene::of(&parts, planted);
        scene.alone(async |access| access.accept(2, 1).await);
        let drain = scene.task(async |access| access.drain(2).await);
        let store = scene.task(async |access| {
            access.accept(3, 2).await;
            access.scheme.fixed().unwrap().on_chip(|chip| {
                chip.caches.hand_on_counters(access.scheme.fixed().unwrap().counter_slot(LineAddr(3)).unwrap())
            });
        });
        scene.run(vec![(Duration::ZERO, drain), (delay, store)]);
        let counters = scene.0.scheme.fixed().unwrap().counter_slot(LineAddr(3)).unwrap();
        scene.0.scheme.fixed().unwrap().on_chip(|chip| chip.caches.displaced(counters));
        scene.alone(async |access| {
            access.drain(3).await;
            access.read(2).await;
            access.read(3).await;
        });
        scene.went_wrong()
    });
}

/// Two lines under one tag are written.
#[test]
fn concurrent_writes_of_two_lines_under_one_tag_are_serialised() {
    caught(Bug::GroupedLineLockedAlone, 5, |planted, delay| {
        let mut scene = Scene::of(&design("sc64-bmt-mac4"), planted);
        scene.alone(async |access| {
            access.write(4, 1).await;
            access.write(5, 2).await;
        });
        let first = scene.task(async |access| access.write(4, 3).await);
        let second = scene.task(async |access| access.write(5, 4).await);
        scene.run(vec![(Duration::ZERO, first), (delay, second)]);
        scene.alone(async |access| {
            access.read(4).await;
            access.read(5).await;
        });
        scene.went_wrong()
    });
}

/// More lines are stored at once than the memory's queue can hold. While the store of the last line waits, its earlier fetched
/// content is requested, as by a read that fetched early.
#[test]
fn fetched_data_is_outdated_while_a_store_to_its_line_waits_for_the_memory_queue() {
    const STORES: u64 = 200;
    const LAST: Slot = Slot(STORES - 1);
    let store = |slot: Slot, content: u8| {
        async move |access: Access| {
            access.verbs.store(slot, Role::Data, [content; 64].into()).await;
        }
    };
    caught(Bug::StoredAfterQueue, 5, |planted, delay| {
        let mut scene = Scene::of(&design("none"), planted);
        scene.alone(store(LAST, 1));
        let fetched = scene.0.memory.media().borrow().read(LAST);
        let mut tasks: Vec<(Duration, Task)> =
            (0..STORES).map(|slot| (Duration::ZERO, scene.task(store(Slot(slot), 2)))).collect();
        let is_current = Rc::new(Cell::new(false));
        let answer = is_current.clone();
        let asks = async move |access: Access| answer.set(access.verbs.still_stored(LAST, fetched).is_some());
        tasks.push((delay, scene.task(asks)));
        scene.run(tasks);
        is_current.get()
    });
}

/// A line of each of two groups, which is written until its counters overflow.
const HOT: [u64; 2] = [7, 64 * 8 + 14];
/// Two other lines of the second group.
const COLD: [u64; 2] = [HOT[1] + 1, HOT[1] + 2];

/// Ages both groups until just before an overflow.
async fn grow_old(access: &Access) {
    for hot in HOT {
        access.scheme.age(&access.verbs, LineAddr(hot), Age::BeforeRenewal).await;
    }
    for cold in COLD {
        access.write(cold, 1).await;
    }
}

/// Returns the number of writes of each hot line before the one that makes its counters overflow.
fn writes_left(parts: &Parts) -> [usize; 2] {
    let mut scene = Scene::of(parts, PlantedBug::NONE);
    let left = Rc::new(Cell::new([0; 2]));
    let counted = left.clone();
    scene.alone(async move |access| {
        grow_old(&access).await;
        let mut writes = [0; 2];
        for (hot, writes) in HOT.into_iter().zip(&mut writes) {
            let before = access.scheme.counted().renewals.groups;
            while access.scheme.counted().renewals.groups == before {
                access.write(hot, 1).await;
                *writes += 1;
            }
        }
        counted.set(writes.map(|writes| writes - 1));
    });
    left.get()
}

/// One group is renewed, and another waits for this. Its counters lose their entry to the last-level cache, and an L2 copies them
/// from this cache.
#[test]
fn an_l2_copy_of_counters_made_before_a_waiting_renewal_is_invalidated() {
    // An organisation of counters that is renewed after few writes.
    let parts = Parts { counters: CounterChoice::Sc64Mac, ..design("emcc") };
    let left = writes_left(&parts);
    caught(Bug::RenewalLeavesCopies, 50, |planted, delay| {
        let limits = OverflowLimits { outstanding: 1, slots: 4 };
        let mut scene = Scene::limited(&parts, planted, Some(limits));
        scene.alone(async move |access| {
            grow_old(&access).await;
            for (hot, writes) in HOT.into_iter().zip(left) {
                for _ in 0..writes {
                    access.write(hot, 3).await;
                }
            }
        });
        let before = scene.0.scheme.counted().renewals.groups;
        let overflows = HOT.map(|hot| (Duration::ZERO, scene.task(async move |access| access.write(hot, 4).await)));
        let copies = scene.task(async move |access| {
            access.scheme.fixed().unwrap().on_chip(|chip| {
                chip.caches.hand_on_counters(access.scheme.fixed().unwrap().counter_slot(LineAddr(HOT[1])).unwrap())
            });
            access.read(COLD[0]).await;
        });
        scene.run(overflows.into_iter().chain([(delay, copies)]).collect());
        assert_eq!(scene.0.scheme.counted().renewals.groups - before, 2, "the scene is not set");
        scene.alone(async move |access| access.read(COLD[1]).await);
        scene.went_wrong()
    });
}
