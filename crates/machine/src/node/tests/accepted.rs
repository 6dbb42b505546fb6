//! Tests of the stores that L1D has accepted.

use super::*;

#[test]
fn a_store_that_hits_is_in_l1d_while_an_earlier_store_keeps_it_in_the_queue() {
    for past_caches in [false, true] {
        let config = NodeConfig { reports_stores: true, ..small() };
        let mut bench = Bench::warm(&config, &[5]);
        let mut second = store(0, 5, 0);
        second.touches[0].past_caches = past_caches;
        let (ops, mut out) = ([store(0, 9, 0), second], Vec::new());
        let Ok(_) = bench.node.run(&mut Script { ops: ops.iter() }, Time::NEVER, &mut out);
        let in_queue = |bench: &mut Bench| [5, 9].map(|line| bench.node.accepted_stores().in_queue(LineAddr(line)));
        assert_eq!(in_queue(&mut bench), [1, 0], "line 9 has not arrived");
        assert_eq!(bench.node.accepted_stores().take().count(), 0);
        bench.send(&mut out);
        bench.answer(&mut out);
        assert_eq!(in_queue(&mut bench), [0, 0]);
        let accepted: Vec<(Time, LineAddr)> = bench.node.accepted_stores().take().collect();
        assert_eq!(accepted.iter().map(|(_, line)| line.0).collect::<Vec<_>>(), [9, 5]);
        assert!(accepted[0].0 <= accepted[1].0, "{accepted:?}");
    }
}
