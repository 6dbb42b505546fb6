//! Computes tags in pairs on the host, one of them in advance.
//!
//! An engine accepts a line while earlier lines are still in its pipeline, and so does its model. So the simulator
//! knows most messages before an access needs their tags. Some codes compute two tags together in less time than one
//! after the other. For these codes, the simulator computes a needed tag together with the oldest scheduled tag, and a
//! later access finds the latter in the memo. Pairing changes no tag.

use super::Mac;
use crate::counter::Counter;
use crate::memo::MacInput;
use crate::placement::DataSlot;
use crate::planted::Bug;
use crate::speculation::Bitmap;
use crypto::Tag;
use std::cell::RefCell;
use std::collections::VecDeque;
use units::Line;

/// Maximum number of scheduled tags: more than a channel has requests under way.
const SCHEDULED_MAX: usize = 64;

/// Messages with scheduled tags, the oldest first.
#[derive(Default)]
pub(super) struct Pairing {
    messages: RefCell<VecDeque<MacInput>>,
}

impl Pairing {
    fn enter(&self, message: MacInput) {
        let mut messages = self.messages.borrow_mut();
        if messages.len() == SCHEDULED_MAX {
            messages.pop_front();
        }
        messages.push_back(message);
    }

    /// Removes `needed`, then removes and returns the oldest of the remaining messages.
    fn oldest_pair(&self, needed: &MacInput) -> Option<MacInput> {
        let mut messages = self.messages.borrow_mut();
        if let Some(line_number) = messages.iter().position(|message| message == needed) {
            messages.remove(line_number);
        }
        messages.pop_front()
    }
}

impl Mac {
    /// Announces that the tag of a line will be needed, in most cases.
    pub fn schedule(&self, at: DataSlot, counter: Counter, bitmap: Bitmap, text: &Line) {
        if self.code.pairs().is_none() {
            return;
        }
        let message = self.message(at, counter, bitmap, text);
        if self.memo.known(&message).is_none() {
            self.pairing.enter(message);
        }
    }

    /// Computes a tag, and with it the oldest scheduled one if the code computes pairs.
    pub(super) fn compute(&self, message: &MacInput) -> Tag {
        let bits = if self.planted.has(Bug::TagCutShort) { self.bits / 2 } else { self.bits };
        let nonce = |of: &MacInput| self.nonce(of.line_number, Counter(of.version)).with_bitmap(of.bitmap);
        let paired = self.code.pairs().and_then(|pairs| Some((pairs, self.pairing.oldest_pair(message)?)));
        let Some((pairs, other)) = paired else {
            self.count(1, 0);
            return self.code.tag(&nonce(message), &message.text, bits);
        };
        let lines = [(&nonce(message), &message.text), (&nonce(&other), &other.text)];
        self.count(2, 2);
        let [tag, paired] = pairs.tags(lines, bits);
        self.memo.learn(&other, paired);
        tag
    }
}

#[cfg(test)]
mod tests {
    use super::super::Coverage;
    use super::*;
    use crate::placement::Placement;
    use crate::planted::PlantedBug;
    use crypto::{LineMac, Nonce, Pairs, Tag};
    use proptest::prelude::*;
    use units::LineAddr;

    /// A code that takes two lines at once.
    struct InPairs;

    impl LineMac for InPairs {
        fn whole_bits(&self) -> u32 {
            64
        }

        fn tag(&self, nonce: &Nonce, text: &Line, _bits: u32) -> Tag {
            (u64::from(nonce.block(crypto::Domain::Pad, 0)[0]) << 8 | u64::from(text[0])).into()
        }

        fn pairs(&self) -> Option<&dyn Pairs> {
            Some(self)
        }
    }

    impl Pairs for InPairs {
        fn tags(&self, lines: [(&Nonce, &Line); 2], bits: u32) -> [Tag; 2] {
            lines.map(|(nonce, text)| self.tag(nonce, text, bits))
        }
    }

    fn mac() -> Mac {
        let coverage = Coverage { address: true, counter: true, plaintext: false, bitmap: false };
        Mac::new(Box::new(InPairs), 64, coverage, PlantedBug::NONE)
    }

    fn tag(mac: &Mac, line: u64) -> Tag {
        mac.tag(Placement::Fixed.of(LineAddr(line)), Counter(1), Bitmap::NONE, &[line as u8; 64])
    }

    fn schedule(mac: &Mac, line: u64) {
        mac.schedule(Placement::Fixed.of(LineAddr(line)), Counter(1), Bitmap::NONE, &[line as u8; 64]);
    }

    #[test]
    fn a_needed_tag_is_computed_together_with_the_oldest_scheduled_tag() {
        let mac = mac();
        (1..=3).for_each(|line| schedule(&mac, line));
        tag(&mac, 3);
        assert_eq!(mac.computed(), (2, 2));
        tag(&mac, 1);
        assert_eq!(mac.computed(), (2, 2), "1 was there");
        tag(&mac, 2);
        assert_eq!(mac.computed(), (3, 2), "2 was alone");
        schedule(&mac, 2);
        tag(&mac, 4);
        assert_eq!(mac.computed(), (4, 2), "2 was known");
    }

    #[test]
    fn the_number_of_scheduled_tag_computations_is_bounded() {
        let mac = mac();
        (0..2 * SCHEDULED_MAX as u64).for_each(|line| schedule(&mac, line));
        assert_eq!(mac.pairing.messages.borrow().len(), SCHEDULED_MAX);
    }

    proptest! {
        #[test]
        fn a_tag_does_not_depend_on_the_tags_computed_together_with_it(steps in proptest::collection::vec((0u64..20, any::<bool>()), 0..200)) {
            let mac = mac();
            for (line, needed) in steps {
                if needed {
                    prop_assert_eq!(tag(&mac, line), (line << 8 | line).into());
                } else {
                    schedule(&mac, line);
                }
            }
        }
    }
}
