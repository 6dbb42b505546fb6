//! Counters of the TLBs: a look-up of a page with an outstanding translation is a miss too, and a shared look-up counts once.

use super::super::PageKey;
use super::small;
use crate::node::pipeline::tlb::Tlbs;
use crate::node::pipeline::translated::Side;

#[test]
fn a_tlb_look_up_merged_with_a_pending_translation_counts_as_a_miss() {
    let mut config = small();
    (config.dtlb.latency_cycles, config.stlb.latency_cycles, config.walk_latency_cycles) = (1, 7, 30);
    let mut tlbs = Tlbs::new(&config);
    let page = PageKey(5);
    let mut counted = |cycle, counted| {
        tlbs.look_up(Side::Data, page, cycle, counted);
        let counts = tlbs.counts[Side::Data as usize];
        (counts.hits, counts.misses)
    };
    assert_eq!(counted(0, true), (0, 1));
    assert_eq!(counted(5, true), (0, 2), "the walk is under way");
    assert_eq!(counted(6, false), (0, 2), "this look-up is another's");
    assert_eq!(counted(1000, false), (0, 2));
    assert_eq!(counted(1000, true), (1, 2));
}
