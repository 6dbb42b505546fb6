//! Scheduling of instructions: when they enter the window if all inputs are known, otherwise when memory answers.

use crate::node::caches::access::{Answer, Waiter};
use crate::node::interface::{PageKey, Permission, Touch};
use crate::node::lines::WordAddr;
use crate::node::pipeline::Core;
use crate::node::pipeline::plan::{AccessStart, DependentInput, IssuePlan};
use crate::node::pipeline::stores::Forward;
use crate::node::pipeline::tlb::Looked;
use crate::node::pipeline::translated::{Side, Translated};
use crate::node::pipeline::walk::WalkAction;
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
            let translated = self.translate_early(number, touch, start);
            if !touch.past_caches {
                self.caches.see_store(self.window.origin(number), touch, translated.unwrap_or(start));
            }
            return AccessStart::Store(translated);
        }
        let issued = self.loads.start(self.units.issue(address));
        AccessStart::Load(self.send_load(number, touch, forward, issued))
    }

    /// Returns the cycle at which a store's address is translated. With a walker, the translation is delayed until the
    /// store is written.
    #[inline]
    fn translate_early(&mut self, number: u64, touch: &Touch, cycle: u64) -> Option<u64> {
        if self.walker.is_some() {
            return Some(cycle);
        }
        let goal = Translated::StoreAddress { number, line: touch.line };
        self.translate(Side::Data, touch.page, cycle, goal)
    }

    /// Returns the cycle of a translation, or `None` if a page-table walk continues with `goal` later.
    #[inline]
    pub(in crate::node) fn translate(
        &mut self,
        side: Side,
        page: PageKey,
        cycle: u64,
        goal: Translated,
    ) -> Option<u64> {
        let found = self.tlbs.look_up(side, page, cycle, true);
        self.translated_or_walk(found, page, (side, goal))
    }

    /// Returns the same as [`Core::translate`], from the result of the look-up in the TLBs.
    #[inline]
    pub(in crate::node) fn translated_or_walk(
        &mut self,
        found: Looked,
        page: PageKey,
        waiter: (Side, Translated),
    ) -> Option<u64> {
        match found {
            Looked::Up(ready) => Some(ready),
            Looked::Missed(from) => self.walk(page, from, waiter),
        }
    }

    fn walk(&mut self, page: PageKey, cycle: u64, waiter: (Side, Translated)) -> Option<u64> {
        if let Some(records) = &mut self.tlbs.records {
            if !records.join(page, cycle, waiter) {
                records.ask(page, waiter.1.line(&self.stores), cycle, waiter);
                self.tlbs.count_walk();
            }
            return None;
        }
        let walker = self.walker.as_mut()?;
        if walker.join(page, waiter) {
            return None;
        }
        let begun = walker.begin(page, cycle, waiter);
        self.tlbs.count_walk();
        let (entry_index, first) = begun?;
        let done = self.walk_on(entry_index, first)?;
        self.end_walk(entry_index, done);
        Some(done)
    }

    /// Advances a walk while its page-table entries are available. Returns the cycle at which the walk ends, or `None`
    /// if it waits for an entry.
    fn walk_on(&mut self, entry_index: usize, mut next: WalkAction) -> Option<u64> {
        loop {
            match next {
                WalkAction::Done(cycle) => return Some(cycle),
                WalkAction::Read(line, cycle) => {
                    let answer = self.caches.access(WordAddr::of(line, 0), cycle, Waiter::Walk(entry_index));
                    let ready = answer.known()?;
                    next = self.walker.as_mut()?.go_on(entry_index, ready);
                }
            }
        }
    }

    /// Enters a translation into the TLBs; returns the accesses that waited for it.
    fn end_walk(&mut self, entry_index: usize, cycle: u64) -> Vec<(Side, Translated)> {
        let Some(walker) = &mut self.walker else { return Vec::new() };
        let walk = walker.end(entry_index);
        self.tlbs.walked(walk.waiters.iter().map(|waiter| waiter.0), walk.page, cycle);
        walk.waiters
    }

    /// Continues a walk after the page-table entry that it requested has arrived.
    fn walk_answered(&mut self, entry_index: usize, cycle: u64) {
        let mut next = self.walker.as_mut().map(|walker| (entry_index, walker.go_on(entry_index, cycle)));
        while let Some((entry_index, step)) = next {
            let Some(done) = self.walk_on(entry_index, step) else { return };
            for (_, goal) in self.end_walk(entry_index, done) {
                self.translated(goal, done);
            }
            next = self.walker.as_mut().and_then(|walker| walker.begin_waiting(done));
            self.let_in(done);
        }
    }

    /// Notes that the record of a page arrived at `cycle`. Returns true if retirement waited for it.
    pub(in crate::node) fn record_arrived(&mut self, page: PageKey, cycle: u64) -> bool {
        let oldest = self.window.oldest();
        let waiters = self.tlbs.records.as_mut().map_or_else(Vec::new, |records| records.arrived(page));
        self.tlbs.walked(waiters.iter().map(|(side, _)| *side), page, cycle);
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
            Translated::Store { store } => {
                let entered = self.caches.l1d.lookups.enter(cycle);
                self.write(store, entered);
            }
            Translated::Fetch { word } => self.fetch_translated(word, cycle),
        }
    }

    /// Writes a store with a translated address into the cache.
    pub(in crate::node) fn write(&mut self, store: u64, cycle: u64) {
        let word = self.stores.target(store).1;
        if let Some(bytes) = self.stores.past_caches(store) {
            return self.combine(store, (word, bytes), cycle);
        }
        self.close_line(word.line(), cycle);
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
                (Waiter::Merge(line), Permission::Shared) => self.merge_rest(WordAddr::of(line, 0), cycle),
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
                self.walker.iter_mut().for_each(|walker| walker.served(entry_index, oldest));
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
            if number == self.next_flush {
                self.retire_flushes(cycle);
            }
            self.loads.leave(occupancy.loads, cycle);
            self.registers.leave(occupancy.results, cycle);
            for _ in 0..occupancy.stores {
                let (store, start) = self.stores.write(cycle);
                if self.walker.is_none() {
                    // The address of the store was translated early.
                    let entered = self.caches.l1d.lookups.enter(start);
                    self.write(store, entered);
                } else if !self.waits_outside(Translated::Store { store }, start) {
                    self.enter_store(store, start);
                }
            }
        }
        if self.flushes_wait {
            self.send_flushes();
        }
    }
}
