//! Scheduling: from sources to completion, now if all times are known, else when memory answers.

use super::Request;
use super::caches::{Answer, Waiter};
use super::core::{Core, Plan, Role};
use super::stores::Forward;
use super::tlb::Side;
use super::{Touch, UNKNOWN};
use units::LineAddr;

impl Core {
    /// Schedules an instruction that has just entered, as far as is possible.
    #[inline]
    pub(super) fn schedule(&mut self, number: u64, mut plan: Plan, touches: &[Touch], out: &mut Vec<Request>) {
        let place = self.place(number);
        if plan.addresses_missing == 0 {
            for touch in touches {
                let forward = if touch.store { None } else { self.stores.find(touch) };
                self.issue(number, touch, forward, &mut plan, out);
            }
        } else {
            let mut kept = std::mem::take(&mut self.pending[place].touches);
            kept.extend(touches.iter().map(|touch| (*touch, self.stores.find(touch).filter(|_| !touch.store))));
            self.pending[place].touches = kept;
        }
        for touch in touches.iter().filter(|touch| touch.store) {
            self.stores.enter(touch, number);
        }
        if plan.addresses_missing + plan.operands_missing == 0 {
            self.entries[place].completed = self.execute(&plan);
        } else {
            self.pending[place].plan = plan;
        }
    }

    /// Starts one access, whose address is known.
    #[inline]
    fn issue(&mut self, number: u64, touch: &Touch, forward: Option<Forward>, plan: &mut Plan, out: &mut Vec<Request>) {
        if touch.store {
            let start = self.units.store_ports.start(plan.addresses);
            plan.stores = plan.stores.max(self.tlbs.translate(Side::Data, touch.page, start) + 1);
            return;
        }
        let start = self.units.load_ports.start(plan.addresses);
        let translated = self.tlbs.translate(Side::Data, touch.page, start);
        let forward = forward.filter(|forward| self.stores.queue.holds(forward.store, translated));
        let ready = match forward {
            Some(forward) => self.forward(number, forward, translated),
            None => self.caches.access(touch.line, translated, Waiter::Load(number), out),
        };
        match ready {
            Some(ready) => plan.operands = plan.operands.max(ready),
            None => plan.operands_missing += 1,
        }
    }

    /// Takes a load's data from a store: when, or nothing if the store has no known data and the load will be told.
    fn forward(&mut self, number: u64, forward: Forward, start: u64) -> Option<u64> {
        self.counters.forwarded += 1;
        let penalty = if forward.covers { 0 } else { self.partial_forward_penalty };
        let delay = self.forward_latency + penalty;
        match self.completion(forward.owner) {
            Some(stored) => Some(start.max(stored) + delay),
            None => {
                self.depend(number, forward.owner, Role::Operand, delay);
                None
            }
        }
    }

    /// Books the work of an instruction that has everything it needs; when it is done.
    #[inline]
    fn execute(&mut self, plan: &Plan) -> u64 {
        let ready = plan.operands.max(plan.addresses);
        let done = if plan.plain { ready } else { self.units.complete(plan.class, ready) };
        done.max(plan.stores)
    }

    /// A line arrived: tells all that waited for it, and all that waited for those.
    pub(super) fn filled(&mut self, line: LineAddr, cycle: u64, out: &mut Vec<Request>) {
        let mut waiters = self.caches.filled(line, cycle, out);
        while let Some(waiter) = self.caches.next_waiter(&mut waiters) {
            self.answer(waiter, cycle, out);
        }
        while let Some((waiter, answer)) = self.caches.retry(cycle, out) {
            if let Answer::At(ready) = answer {
                self.answer(waiter, ready, out);
            }
        }
        self.cascade(out);
        self.retire(out);
    }

    fn answer(&mut self, waiter: Waiter, cycle: u64, out: &mut Vec<Request>) {
        match waiter {
            Waiter::Load(number) => self.tell(number, Role::Operand, cycle, out),
            Waiter::Store(store) => self.stores.written(store, cycle),
            Waiter::Fetch => self.fetched(cycle),
        }
    }

    /// Tells the dependents of everything that was resolved, and of what that resolves.
    fn cascade(&mut self, out: &mut Vec<Request>) {
        let mut next = 0;
        while let Some(&number) = self.resolved.get(next) {
            next += 1;
            let place = self.place(number);
            let completed = self.entries[place].completed;
            while let Some(dependent) = self.dependents.pop(&mut self.entries[place].waiters) {
                self.tell(dependent.number, dependent.role, completed + dependent.delay, out);
            }
        }
        self.resolved.clear();
    }

    /// One of the inputs that instruction `number` waits for comes at `cycle`.
    fn tell(&mut self, number: u64, role: Role, cycle: u64, out: &mut Vec<Request>) {
        let place = self.place(number);
        let plan = &mut self.pending[place].plan;
        match role {
            Role::Operand => {
                plan.operands = plan.operands.max(cycle);
                plan.operands_missing -= 1;
            }
            Role::Address => {
                plan.addresses = plan.addresses.max(cycle);
                plan.addresses_missing -= 1;
                if plan.addresses_missing == 0 {
                    self.issue_kept(number, out);
                }
            }
        }
        let plan = self.pending[place].plan;
        if plan.addresses_missing + plan.operands_missing == 0 {
            self.entries[place].completed = self.execute(&plan);
            self.resolved.push(number);
        }
    }

    /// Starts the accesses that waited for their addresses.
    fn issue_kept(&mut self, number: u64, out: &mut Vec<Request>) {
        let place = self.place(number);
        let mut plan = self.pending[place].plan;
        let mut touches = std::mem::take(&mut self.pending[place].touches);
        for (touch, forward) in touches.drain(..) {
            self.issue(number, &touch, forward, &mut plan, out);
        }
        self.pending[place].touches = touches;
        self.pending[place].plan = plan;
    }

    /// Retires what is done, in order, and sends its stores to be written.
    #[inline]
    pub(super) fn retire(&mut self, out: &mut Vec<Request>) {
        while self.window.left() < self.window.entered() {
            let entry = self.entries[self.place(self.window.left())];
            if entry.completed == UNKNOWN {
                break;
            }
            let cycle = self.retirement.next(entry.completed);
            self.window.leave(cycle);
            for _ in 0..entry.loads {
                self.loads.leave(cycle);
            }
            for _ in 0..entry.stores {
                let (store, line, start) = self.stores.write(cycle);
                if let Some(written) = self.caches.access(line, start, Waiter::Store(store), out) {
                    self.stores.written(store, written);
                }
            }
        }
    }
}
