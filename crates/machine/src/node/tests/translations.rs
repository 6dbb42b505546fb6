//! Counters of the TLBs: a look-up of a page with an outstanding translation is a miss too, and a shared look-up counts once.

use super::super::PageKey;
use super::small;
use crate::node::pipeline::tlb::Tlbs;
use crate::node::pipeline::translated::Side;

#[test]
fn a_look_up_that_waits_for_the_translation_of_another_is_a_miss_and_a_shared_one_is_counted_once() {
    let mut config = small();
    (config.dtlb.latency_cycles, config.stlb.latency_cycles, config.walk_latency_cycles) = (1, 7, 30);
    let mut tlbs = Tlbs::new(&config);
    let page = PageKey(5);
    let mut counted = |cycle, counted| {
        tlbs.look_up(Side::Data, page, cycle, counted);
        let counters = tlbs.counters[Side::Data as usize];
        (counters.hits, counters.misses)
    };
    assert_eq!(counted(0, true), (0, 1));
    assert_eq!(counted(5, true), (0, 2), "the walk is under way");
    assert_eq!(counted(6, false), (0, 2), "this look-up is another's");
    assert_eq!(counted(1000, false), (0, 2));
    assert_eq!(counted(1000, true), (1, 2));
}
