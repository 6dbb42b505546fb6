//! Path of a load: through the read queue to its translation and its look-up in L1D, or to the store that supplies its
//! data.
//!
//! L1D admits no access while the maximum number of accesses waits for translations (`PageWalker::has_room`), or while accesses
//! that wait for miss registers occupy all its entries (`Caches::has_room`). Loads and stores then wait outside, in the order
//! of their arrival.

use crate::node::interface::{Touch, UNKNOWN};
use crate::node::lines::WordAddr;
use crate::node::pipeline::Core;
use crate::node::pipeline::plan::DependentInput;
use crate::node::pipeline::stores::Forward;
use crate::node::pipeline::translated::{Side, Translated};

impl Core {
    /// Sends a load to L1D at `cycle`. Returns the cycle at which its data can be used, or `None` if the load is woken
    /// later.
    #[inline]
    pub(in crate::node) fn send_load(
        &mut self,
        number: u64,
        touch: &Touch,
        forward: Option<Forward>,
        cycle: u64,
    ) -> Option<u64> {
        let Some(queue) = &mut self.loads.read_queue else {
            return self.look_up(number, touch, forward, cycle);
        };
        let key = self.caches.l1d.lines().key(WordAddr::touched(touch));
        let arrived = queue.come(cycle);
        if let Some(left) = queue.meets(key, arrived) {
            return self.merge(number, touch, forward, left);
        }
        queue.arrived(key, arrived);
        self.look_up(number, touch, forward, arrived)
    }

    /// Looks up a load that arrived at `cycle`.
    #[inline]
    fn look_up(&mut self, number: u64, touch: &Touch, forward: Option<Forward>, cycle: u64) -> Option<u64> {
        let start = self.units.load_ports.start(cycle);
        let goal = Translated::Load { number, touch: *touch, forward, shared: false };
        if self.translation.waits_outside(goal, start, &self.caches) {
            return None;
        }
        let entered = self.caches.l1d.lookups.enter(start);
        if let Some(queue) = &mut self.loads.read_queue {
            queue.left(self.caches.l1d.lines().key(WordAddr::touched(touch)), entered);
        }
        let looked_up = self.translation.translate_inside(touch.page, entered, goal, &mut self.caches)?;
        self.load(number, touch, forward, false, looked_up)
    }

    /// Merges a load with an earlier load of its line, which left the read queue at `left`.
    fn merge(&mut self, number: u64, touch: &Touch, forward: Option<Forward>, left: u64) -> Option<u64> {
        let goal = Translated::Load { number, touch: *touch, forward, shared: true };
        if left == UNKNOWN {
            self.translation.walker_mut()?.wait_outside(goal, 0);
            return None;
        }
        if let Some(translated) = self.translation.tlbs.merged(Side::Data, touch.page, left) {
            return self.load(number, touch, forward, true, translated);
        }
        if self.translation.joins(touch.page, left, (Side::Data, goal)) {
            return None;
        }
        self.look_up(number, touch, forward, left)
    }

    /// Admits waiting accesses, after a walk has ended at `cycle` or a line has arrived.
    pub(in crate::node) fn let_in(&mut self, cycle: u64) {
        while self.caches.has_room()
            && let Some((goal, arrived)) = self.translation.walker_mut().and_then(|walker| walker.next_outside())
        {
            let cycle = cycle.max(arrived);
            match goal {
                Translated::Load { number, touch, forward, shared } => {
                    let ready = if shared {
                        self.merge(number, &touch, forward, cycle)
                    } else {
                        self.look_up(number, &touch, forward, cycle)
                    };
                    if let Some(ready) = ready {
                        self.input_arrives(number, DependentInput::Operand, ready);
                    }
                }
                Translated::Store { store, .. } => {
                    self.enter_store(store, cycle);
                }
                Translated::StoreAddress { .. } | Translated::Fetch { .. } => {
                    unreachable!("it is not looked up in L1D")
                }
            }
        }
    }

    /// Enters a store into L1D at `cycle`, and writes it if its translation is available.
    pub(in crate::node) fn enter_store(&mut self, store: u64, cycle: u64) {
        let entered = self.caches.l1d.lookups.enter(cycle);
        let (page, word) = self.stores.target(store);
        let goal = Translated::Store { store, line: word.line() };
        if let Some(looked_up) = self.translation.translate_inside(page, entered, goal, &mut self.caches) {
            self.write(store, looked_up);
        }
    }

    /// Reads a load's data from the store queue or L1D. Returns the cycle of the data, or `None` if the load is woken
    /// later.
    #[inline]
    pub(in crate::node) fn load(
        &mut self,
        number: u64,
        touch: &Touch,
        forward: Option<Forward>,
        shared: bool,
        translated: u64,
    ) -> Option<u64> {
        match forward.filter(|forward| self.stores.queue.holds(forward.store, translated)) {
            Some(forward) => self.loads.forward(number, forward, translated, &mut self.window),
            None => {
                self.combining.close_line(touch.line, translated, &mut self.caches);
                let ready = self.caches.load(self.window.origin(number), shared, touch, translated)?;
                Some(self.loads.usable(ready))
            }
        }
    }
}
