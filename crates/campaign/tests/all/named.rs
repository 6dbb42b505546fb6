//! The hint before a read names the lines that the read then fetches, and the hint changes no state. The simulator uses it
//! to prefetch host data while a miss is in progress, and `casemate explain` to prepare the rows of memory.

use crate::common::shares::designs_without_persistence;
use crate::common::{DATA_LINES, with_caches};
use crate::one_text::{Request, perform, requests};
use casemate_campaign::tap::Tapped;
use machine::dram::Kind;
use protection::design::Parts;
use protection::execution::{Untimed, run_now};
use protection::probe::Crossing;
use protection::scheme::Scheme;
use protection::verbs::Slot;
use std::collections::BTreeSet;
use units::{LINE_BYTES, LineAddr};

/// A scheme over a memory with recorded pins.
struct Heard {
    scheme: Scheme,
    tapped: Tapped,
}

impl Heard {
    fn of(parts: &Parts) -> Heard {
        let scheme = parts.build(DATA_LINES, 1).unwrap();
        let tapped = Tapped::new(scheme.layout().total_lines(), None);
        tapped.tap().listen(scheme.layout().shape(), true);
        Heard { scheme, tapped }
    }

    fn perform(&self, request: Request) -> Vec<Crossing> {
        run_now(perform(&self.scheme, &self.tapped.verbs(), request));
        self.tapped.tap().take_heard()
    }

    /// Returns the lines that the scheme names, if this is a read.
    fn named(&self, request: Request) -> Option<BTreeSet<LineAddr>> {
        let Request::Read(line) = request else { return None };
        let mut named = BTreeSet::new();
        let shape = self.scheme.layout().shape();
        self.scheme.name_fetched(line, |slot| {
            let (first, second) = shape.lines(slot);
            named.extend([first].into_iter().chain(second));
        });
        Some(named)
    }
}

/// Returns the lines that are read, and whether any is written. In that case metadata was evicted, and nodes may be read for it.
fn fetched(crossings: &[Crossing]) -> (BTreeSet<LineAddr>, bool) {
    let of = |kind| crossings.iter().filter(move |crossing| crossing.kind == kind).map(|crossing| crossing.line);
    (of(Kind::Read).collect(), of(Kind::Write).next().is_some())
}

#[test]
fn the_prefetch_hint_names_exactly_the_metadata_that_a_read_fetches() {
    let mut exact = 0;
    for (number, design) in designs_without_persistence().into_iter().enumerate() {
        for caches in [number as u64, number as u64 + 1] {
            let parts = with_caches(&design.parts, caches);
            let [explicit, other] = [Heard::of(&parts), Heard::of(&parts)];
            // A copy in an L2 may replace counters that the hint names.
            let copied = explicit.scheme.fixed().is_some_and(|scheme| scheme.on_chip(|chip| chip.copies.is_some()));
            let shape = explicit.scheme.layout().shape();
            let metadata = shape.byte(Slot(shape.data)) / LINE_BYTES as u64;
            for request in requests(11, false) {
                let named = explicit.named(request);
                let crossings = explicit.perform(request);
                assert!(crossings == other.perform(request), "{}: {request:?} after a look", design.name);
                let Some(named) = named else { continue };
                let (fetched, wrote) = fetched(&crossings);
                let all = named.is_subset(&fetched);
                assert!(all || copied, "{}: {named:?} named, {fetched:?} fetched", design.name);
                // The hint does not name the other lines under the same tag, because they are adjacent.
                if !wrote {
                    let missing = fetched.difference(&named).find(|line| line.0 >= metadata);
                    assert_eq!(missing, None, "{}: {named:?} named, {fetched:?} fetched", design.name);
                    exact += 1;
                }
            }
        }
    }
    assert!(exact > 200, "{exact} reads wrote nothing");
}
