//! Scheduling of instructions: when they enter the window if all inputs are known, otherwise when memory answers.

use crate::node::caches::access::{Answer, Waiter};
use crate::node::interface::{Orders, PageKey, Permission, Touch};
use crate::node::lines::WordAddr;
use crate::node::pipeline::Core;
use crate::node::pipeline::combining::CombinedStore;
use crate::node::pipeline::plan::{AccessStart, DependentInput, IssuePlan};
use crate::node::pipeline::stores::Forward;
use crate::node::pipeline::translated::Translated;
use crate::node::pipeline::window::Retired;
use units::{LineAddr, Words};

impl Core {
    /// Schedules an instruction that has just entered, as far as is possible.
    #[inline(always)]
    pub(in crate::node) fn schedule(&mut self, number: u64, mut plan: IssuePlan, touches: &[Touch]) {
        if plan.addresses_missing == 0 {
            for touch in touches {
                let forward = if touch.store { None } else { self.stores.find(touch) };
                plan.note(self.issue(number, touch, forward, plan.addresses));
            }
        } else {
            let forward = |touch: &Touch| self.stores.find(touch).filter(|_| !touch.store);
            self.window.touches(number).extend(touches.iter().map(|touch| (*touch, forward(touch))));
        }
        for touch in touches.iter().filter(|touch| touch.store) {
            self.stores.enter(touch, number);
        }
        if plan.is_complete() {
            self.window.complete(number, self.units.execute(&plan));
        } else {
            *self.window.plan(number) = plan;
        }
    }

    /// Starts one access with an address that is known at `address`.
    #[inline]
    fn issue(&mut self, number: u64, touch: &Touch, forward: Option<Forward>, address: u64) -> AccessStart {
        if touch.store {
            let issued = self.units.issue(address);
            let start = self.units.store_ports.start(issued);
            let translated = self.translation.translate_early(number, touch, start, &mut self.caches);
            if !touch.past_caches {
                self.caches.see_store(self.window.origin(number), touch, translated.unwrap_or(start));
            }
            return AccessStart::Store(translated);
        }
        let issued = self.loads.start(self.units.issue(address));
        AccessStart::Load(self.send_load(number, touch, forward, issued))
    }

    /// Schedules instruction `number`, which entered at `cycle`, with its flushes and fence. This function is not
    /// inlined and has a separate issue plan. Most programs never order stores, and their plans then stay in registers
    /// of the host.
    #[cold]
    pub(in crate::node) fn schedule_ordered(
        &mut self,
        number: u64,
        cycle: u64,
        orders: &Orders,
        mut plan: IssuePlan,
        touches: &[Touch],
    ) {
        self.epochs.enter(number, cycle, orders, self.stores.queue.entered(), &mut plan);
        self.schedule(number, plan, touches);
    }

    /// Continues a walk after the page-table entry that it requested has arrived.
    fn walk_answered(&mut self, entry_index: usize, cycle: u64) {
        let walker = self.translation.walker_mut();
        let mut next = walker.map(|walker| (entry_index, walker.go_on(entry_index, cycle)));
        while let Some((entry_index, step)) = next {
            let Some(done) = self.translation.walk_on(entry_index, step, &mut self.caches) else { return };
            for (_, goal) in self.translation.end_walk(entry_index, done) {
                self.translated(goal, done);
            }
            next = self.translation.walker_mut().and_then(|walker| walker.begin_waiting(done));
            self.let_in(done);
        }
    }

    /// Notes that the record of a page arrived at `cycle`. Returns true if retirement waited for it.
    pub(in crate::node) fn record_arrived(&mut self, page: PageKey, cycle: u64) -> bool {
        let oldest = self.window.oldest();
        let waiters = self.translation.record_arrived(page, cycle);
        let awaited = waiters.iter().any(|(_, goal)| goal.is_awaited(oldest));
        for (_, goal) in waiters {
            self.translated(goal, cycle);
        }
        self.cascade();
        self.retire();
        awaited
    }

    /// Continues an access that waited for a translation.
    fn translated(&mut self, goal: Translated, cycle: u64) {
        match goal {
            Translated::StoreAddress { number, .. } => self.input_arrives(number, DependentInput::StoreAddress, cycle),
            Translated::Load { number, touch, forward, shared } => {
                let cycle = if shared { cycle } else { self.caches.l1d.lookups.enter(cycle) };
                if let Some(ready) = self.load(number, &touch, forward, shared, cycle) {
                    self.input_arrives(number, DependentInput::Operand, ready);
                }
            }
            Translated::Store { store, .. } => {
                let entered = self.caches.l1d.lookups.enter(cycle);
                self.write(store, entered);
            }
            Translated::Fetch { word } => self.front.look_up_code(word, cycle, &mut self.caches),
        }
    }

    /// Writes a store with a translated address into the cache.
    pub(in crate::node) fn write(&mut self, store: u64, cycle: u64) {
        let word = self.stores.target(store).1;
        if let Some(bytes) = self.stores.past_caches(store) {
            let combined = CombinedStore { store, word, bytes };
            return self.combining.combine(combined, cycle, &mut self.stores, &mut self.caches);
        }
        self.combining.close_line(word.line(), cycle, &mut self.caches);
        match self.caches.access(word, cycle, Waiter::Store(store)) {
            // L1D has accepted the store, although its line may still be on its way from L2.
            Answer::At(_) if self.stores.is_buffered() => self.stores.written(store, cycle + 1),
            Answer::At(written) => self.stores.written(store, written),
            Answer::Requested if self.stores.is_buffered() => self.stores.written(store, cycle),
            Answer::Requested | Answer::Stalled => {}
        }
    }

    /// Fills an arrived line, and wakes its waiters and their dependents.
    pub(in crate::node) fn filled(&mut self, line: LineAddr, cycle: u64, permission: Permission) {
        let mut waiters = self.caches.filled(line, cycle, permission);
        while let Some((waiter, earliest)) = self.caches.outstanding.next_waiter(&mut waiters) {
            let cycle = cycle.max(earliest);
            match (waiter, permission) {
                // The store or merge had waited for the line of an earlier read, which arrives without write
                // permission.
                (Waiter::Store(store), Permission::Shared) => self.write(store, cycle),
                (Waiter::Merge(line), Permission::Shared) => {
                    self.combining.merge_rest(WordAddr::of(line, 0), cycle, &mut self.caches)
                }
                _ => self.answer(waiter, cycle),
            }
        }
        while let Some((waiter, answer)) = self.caches.retry(cycle) {
            match (answer, waiter) {
                (_, Waiter::Store(store)) if self.stores.is_buffered() => self.stores.written(store, cycle),
                (Answer::At(ready), _) => self.answer(waiter, ready),
                _ => {}
            }
        }
        self.let_in(cycle);
        self.cascade();
        self.retire();
    }

    /// Wakes the waiters of some words of a line that arrived before the remaining words.
    pub(in crate::node) fn arrived_in_part(&mut self, line: LineAddr, words: Words, cycle: u64) {
        self.caches.outgoing.answered(cycle);
        let mut served = self.caches.outstanding.arrived_in_part(line, words, cycle);
        while let Some((waiter, earliest)) = self.caches.outstanding.next_waiter(&mut served) {
            self.answer(waiter, cycle.max(earliest));
        }
        self.cascade();
        self.retire();
    }

    /// Records the answer to a flush at `cycle`: memory has the line.
    pub(in crate::node) fn flushed(&mut self, line: LineAddr, cycle: u64) {
        self.caches.outgoing.answered(cycle);
        self.epochs.answered(line, cycle);
        while let Some((owner, cycle)) = self.epochs.next_fence() {
            self.input_arrives(owner, DependentInput::Operand, cycle);
        }
        self.cascade();
        self.retire();
    }

    /// Records that the memory controller accepted a line that was stored past the caches at `cycle`.
    pub(in crate::node) fn taken_past_caches(&mut self, cycle: u64) {
        self.caches.outgoing.answered(cycle);
        self.combining.accepted(cycle, &mut self.stores, &mut self.caches);
        self.cascade();
        self.retire();
    }

    fn answer(&mut self, waiter: Waiter, cycle: u64) {
        match waiter {
            Waiter::Load(number, _) | Waiter::SharedLoad(number, _) => {
                self.input_arrives(number, DependentInput::Operand, self.loads.usable(cycle))
            }
            // A store in the write buffer already left the buffer when its miss got a register.
            Waiter::Store(_) if self.stores.is_buffered() => {}
            Waiter::Merge(line) => self.combining.merged(line),
            Waiter::Store(store) => self.stores.written(store, cycle),
            Waiter::Walk(entry_index) => {
                let oldest = self.window.oldest();
                self.translation.walker_mut().into_iter().for_each(|walker| walker.served(entry_index, oldest));
                self.walk_answered(entry_index, cycle);
            }
            Waiter::Fetch => self.front.fetched(cycle),
        }
    }

    /// Wakes the direct and indirect dependents of all resolved instructions.
    pub(in crate::node) fn cascade(&mut self) {
        let mut next = 0;
        while let Some(number) = self.window.resolved(next) {
            next += 1;
            while let Some((dependent, cycle)) = self.window.next_dependent(number) {
                self.input_arrives(dependent.number, dependent.input, cycle);
            }
        }
        self.window.end_cascade();
    }

    /// Records that an input of instruction `number` arrives at `cycle`. The code reads the plan in place, field by
    /// field. A copy of the plan would stall the host until it has stored the fields that have just changed.
    pub(in crate::node) fn input_arrives(&mut self, number: u64, input: DependentInput, cycle: u64) {
        if self.window.plan(number).arrive(input, cycle) {
            self.issue_kept(number);
        }
        let plan = self.window.plan(number);
        if plan.is_complete() {
            let completed = self.units.execute(plan);
            self.window.resolve(number, completed);
        }
    }

    /// Starts the accesses of an instruction that waited for their addresses.
    fn issue_kept(&mut self, number: u64) {
        let address = self.window.plan(number).addresses;
        let mut touches = std::mem::take(self.window.touches(number));
        for (touch, forward) in touches.drain(..) {
            let started = self.issue(number, &touch, forward, address);
            self.window.plan(number).note(started);
        }
        *self.window.touches(number) = touches;
    }

    /// Retires completed instructions in order, and starts the writes of their stores.
    #[inline]
    pub(in crate::node) fn retire(&mut self) {
        while let Some(Retired { number, cycle, occupancy }) = self.window.retire() {
            if self.epochs.is_next(number) {
                self.epochs.retire(cycle);
            }
            self.loads.leave(occupancy.loads, cycle);
            self.registers.leave(occupancy.results, cycle);
            for _ in 0..occupancy.stores {
                let (store, start) = self.stores.write(cycle);
                if !self.translation.has_walker() {
                    // The address of the store was translated early.
                    let entered = self.caches.l1d.lookups.enter(start);
                    self.write(store, entered);
                    continue;
                }
                let goal = Translated::Store { store, line: self.stores.target(store).1.line() };
                if !self.translation.waits_outside(goal, start, &self.caches) {
                    self.enter_store(store, start);
                }
            }
        }
        if self.epochs.flushes_wait() {
            self.epochs.send(&self.stores, &mut self.combining, &mut self.caches);
        }
    }
}
