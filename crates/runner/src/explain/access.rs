//! The kinds of accesses that can be explained: the slots that each kind fetches, and the first steps of some kinds.

use protection::execution::{Explained, Timed};
use protection::scheme::{Demand, Permutations, RecordPort, Scheme};
use protection::slot::Slot;
use protection::verbs::{Cache, Leg, Role, TransitVerbs};
use units::{LineAddr, Word};

/// The lines that an access fetches; the line of a read is last. The lines that a write stores are not included: they
/// wait in the queue of the memory controller, whatever the state of the row.
pub(super) fn fetched_lines(scheme: &Scheme, target: LineAddr, is_read: bool) -> Vec<LineAddr> {
    let mut slots = Vec::<Slot>::new();
    scheme.name_fetched(target, |slot| {
        if !slots.contains(&slot) {
            slots.push(slot);
        }
    });
    if !is_read {
        slots.pop();
    }
    slots.into_iter().map(|slot| scheme.layout().shape().lines(slot).0).collect()
}

/// Loads the record of a page, or permutes the page.
pub(super) async fn walk(scheme: &Scheme, verbs: &Explained<Timed>, target: LineAddr, permutes: bool) {
    let Some((records, permutations)) = RecordPort::of(scheme).zip(Permutations::of(scheme)) else { return };
    if permutes {
        permutations.permute_chunk_of(verbs, target).await;
    } else if records.acquire(verbs, target).await {
        records.release(target);
    }
}

/// A read as seen by a core's L2, from its look-up on. The last-level cache does not have the line.
pub(super) async fn read_from_l2(
    scheme: &Scheme,
    verbs: &Explained<Timed>,
    (target, word): (LineAddr, Word),
    predicted: bool,
) {
    let missed = verbs.look_up(Cache::L2(Role::Data));
    let prediction = predicted.then(|| verbs.travel(Leg::Predicted));
    let request = async {
        verbs.travel(Leg::Request(0, target)).await;
        verbs.travel(Leg::ToController).await;
        true
    };
    scheme.read_from(verbs, Demand { word, ..Demand::of(target, 0) }, missed, request, prediction).await;
}
