//! Copies of the state of a chip, taken between two accesses, so that many trials can begin where one long run ended.

use super::ChipState;

impl ChipState {
    /// Returns a copy of this state. Later changes to one do not affect the other.
    ///
    /// # Panics
    /// If lines also use a machine's last-level cache, which belongs to the machine.
    pub fn twin(&self) -> ChipState {
        ChipState {
            caches: self.caches.twin(),
            copies: self.copies.as_ref().map(|copies| copies.twin()),
            root: self.root.clone(),
            power: self.power.clone(),
            forest: self.forest.clone(),
            planted: self.planted,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::design::{CipherChoice, CounterChoice, Parts, TreeKind};
    use crate::on_chip::LastLevel;
    use crate::slot::Slot;

    struct OfAMachine;

    impl LastLevel for OfAMachine {
        fn take(&self, _: Slot) -> bool {
            false
        }

        fn look_up(&self, _: Slot) -> bool {
            false
        }

        fn enter(&self, _: Slot) -> Option<Slot> {
            None
        }
    }

    #[test]
    #[should_panic = "a machine's last-level cache is not copied"]
    fn a_chip_with_counters_in_the_last_level_cache_of_a_machine_cannot_be_cloned() {
        let mut parts = Parts {
            cipher: CipherChoice::Aes128Counter,
            counters: CounterChoice::Sc64,
            mac: Default::default(),
            tree: TreeKind::None.into(),
            ownership: Default::default(),
            caches: Default::default(),
            persistence: Default::default(),
            release: Default::default(),
            speculation: Default::default(),
            permutation: None,
        };
        parts.caches.counters_in_llc = true;
        let scheme = parts.build(1 << 10, 1).unwrap();
        drop(scheme.twin());
        scheme.fixed().unwrap().on_chip(|chip| chip.share(Box::new(OfAMachine)));
        scheme.twin();
    }
}
