//! Switches of processes: when the core stops and continues, and the content of its TLBs afterwards.

use super::*;

/// A script that switches to process 7 at instruction `at`.
struct Switching<'a> {
    ops: &'a [Op],
    next: usize,
    at: usize,
}

impl Feed for Switching<'_> {
    type Error = std::convert::Infallible;

    fn next(&mut self) -> Result<Option<NodeStep<'_>>, Self::Error> {
        let number = self.next;
        self.next += 1;
        Ok(self.ops.get(number).map(|op| NodeStep { switches_to: (number == self.at).then_some(7), ..step(op) }))
    }
}

#[test]
fn a_core_stops_at_a_context_switch_and_continues_after_it() {
    let mut bench = Bench::warm(&small(), &[64]);
    let (start, period) = (bench.clock(), bench.node.clock.period().as_fs());
    let ops = [alu(&[1], &[]), alu(&[1], &[1]), alu(&[1], &[1])];
    let (mut feed, mut out) = (Switching { ops: &ops, next: 0, at: 1 }, Vec::new());
    assert_eq!(bench.node.run(&mut feed, Time::NEVER, &mut out), Ok(Pause::Switch(7)));
    assert_eq!((bench.node.outstanding(), out.len()), (0, 0));
    let (retired, before) = (bench.clock(), bench.node.counts().instructions);
    let over = start + 5_000;
    bench.node.switched(bench.node.clock.start_of(Cycles(over)));
    assert_eq!(bench.node.switching().as_fs(), 0, "nothing has retired since");
    assert_eq!(bench.node.run(&mut feed, Time::NEVER, &mut out), Ok(Pause::Finished));
    assert_eq!(bench.node.counts().instructions, before + 2);
    assert!((over..over + 10).contains(&bench.clock()), "the second instruction waits for the switch");
    assert_eq!(bench.node.switching().as_fs() / period, over - retired);
    assert_eq!(bench.node.idle().as_fs(), 0);
    let lost = bench.node.counts().lost_cycles;
    assert!(lost.switch > 0 && lost.switch <= over - start && lost.idle == 0, "{lost:?}");
}

#[test]
fn a_core_without_context_switches_has_no_switching_time() {
    let mut bench = Bench::warm(&small(), &[64]);
    bench.cycles(&[alu(&[1], &[]), alu(&[1], &[1])]);
    assert_eq!((bench.node.switching().as_fs(), bench.node.counts().lost_cycles.switch), (0, 0));
}

#[test]
fn a_flushed_tlb_misses_each_page_again_and_releases_its_page_chunk_records() {
    let mut bench = Bench::new(&small());
    bench.node.tlbs_mut().keep_records();
    let clock = bench.node.clock;
    let ops = [load(1, &[], 64, 0), load(1, &[1], 128, 0), load(1, &[1], 64, 1)];
    // The core requests each page once, and once more after the TLBs were emptied.
    let mut given_up = 0;
    for _ in 0..3 {
        let (mut feed, mut out, mut requested) = (Script { ops: ops.iter() }, Vec::new(), Vec::new());
        while bench.node.run(&mut feed, Time::NEVER, &mut out) != Ok(Pause::Finished) || bench.node.outstanding() > 0 {
            let delay = clock.span(Cycles(MEMORY));
            for request in bench.node.tlbs_mut().take_record_requests() {
                let RecordRequest::Bring { page, at, .. } = request else { panic!("no TLB is full") };
                requested.push(page);
                bench.node.record_arrived(page, at + delay, &mut out);
            }
            for Request { at, line, .. } in std::mem::take(&mut out) {
                bench.node.filled(line, at + delay, &mut out);
            }
        }
        requested.sort_unstable();
        requested.dedup();
        assert_eq!(requested.len(), 3, "the page of the code and two of data");
        bench.node.empty_tlbs(bench.node.now());
        let requests: Vec<_> = bench.node.tlbs_mut().take_record_requests().collect();
        assert!(requests.iter().all(|request| matches!(request, RecordRequest::GiveUp { .. })), "{requests:?}");
        given_up += requests.len();
    }
    assert_eq!(given_up, 9);
}
