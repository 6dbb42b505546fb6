//! Tests of the baton: exclusion, order, and the ways in which a strand loses it.

use super::*;
use crate::ring::{RecordingSettings, Ring};
use std::sync::atomic::AtomicBool;

const MAIN: StrandId = StrandId { process: 0, thread: 0 };

fn strand(thread: u32) -> StrandId {
    StrandId { process: 0, thread }
}

fn ring() -> Ring {
    Ring::create(RecordingSettings::default()).unwrap()
}

#[test]
fn one_strand_at_a_time_has_the_baton_and_each_gets_it_until_it_ends() {
    let ring = ring();
    let (baton, is_running, turns) = (&ring.between_processes().baton, AtomicBool::new(false), AtomicU64::new(0));
    baton.share(MAIN, 0);
    std::thread::scope(|scope| {
        for thread in 1..5 {
            let (is_running, turns) = (&is_running, &turns);
            scope.spawn(move || {
                let strand = strand(thread);
                let (state, mut clock) = baton.request(strand, 0, None);
                if state == BatonState::Queued {
                    baton.wait(strand);
                }
                for turn in 0..200 {
                    assert!(!is_running.swap(true, AcqRel), "two strands run");
                    clock += 10 + u64::from(thread) * turn % 7;
                    assert!(is_running.swap(false, AcqRel));
                    turns.fetch_add(1, Relaxed);
                    if baton.hand_over(strand, clock) {
                        baton.wait(strand);
                    }
                }
                baton.give_up(strand, clock);
            });
        }
        baton.give_up(MAIN, 0);
    });
    assert_eq!(turns.load(Relaxed), 4 * 200);
    assert_eq!(baton.holder.load(Relaxed), 0);
}

#[test]
fn the_strand_with_the_lowest_clock_goes_on_and_of_equal_ones_the_first() {
    let ring = ring();
    let baton = &ring.between_processes().baton;
    baton.share(MAIN, 100);
    for (thread, clock) in [(1, 300), (2, 200), (3, 200)] {
        assert_eq!(baton.request(strand(thread), clock, None), (BatonState::Queued, clock));
    }
    assert!(!baton.is_due(200) && !baton.hand_over(MAIN, 200), "it keeps the baton up to the clock of the others");
    let mut order = vec![MAIN];
    for clock in [201, 250, 260, 301] {
        let holder = *order.last().unwrap();
        assert!(baton.hand_over(holder, clock));
        order.extend([MAIN, strand(1), strand(2), strand(3)].into_iter().find(|strand| baton.is_held_by(*strand)));
    }
    assert_eq!(order, [MAIN, strand(2), strand(3), MAIN, strand(2)]);
}

#[test]
fn a_strand_that_asks_late_starts_at_the_clock_of_the_holder() {
    let ring = ring();
    let baton = &ring.between_processes().baton;
    baton.share(MAIN, 0);
    baton.begin_call(5_000);
    assert_eq!(baton.expect(strand(1)), 5_000);
    assert_eq!(baton.request(strand(1), 0, None), (BatonState::Queued, 5_000));
    assert_eq!(baton.request(strand(2), 70, None).1, 5_000);
    assert_eq!(baton.request(strand(3), 9_000, None).1, 9_000);
}

#[test]
fn a_woken_strand_goes_on_at_the_clock_of_its_wake_whether_it_asks_before_or_after_the_call_returns() {
    let ring = ring();
    let baton = &ring.between_processes().baton;
    baton.share(MAIN, 0);
    let word = 0x7f00;
    baton.begin_call(1_000);
    assert_eq!(baton.request(strand(1), 10, Some(word)), (BatonState::Queued, 1_000), "before");
    baton.woke(word, 2, 1_500);
    assert!(baton.is_due(1_400), "one of two has not asked yet");
    assert_eq!(baton.request(strand(2), 10, Some(word + 8)).1, 1_000, "another word");
    assert!(baton.is_due(900));
    assert_eq!(baton.request(strand(3), 10, Some(word)), (BatonState::Queued, 1_500), "after");
    assert!(!baton.is_due(1_000) && baton.is_due(1_001));
    baton.give_up(MAIN, 1_600);
    assert!(baton.is_held_by(strand(2)));
    baton.give_up(strand(2), 1_700);
    assert!(baton.is_held_by(strand(1)), "its clock is that of the wake, too");
}

#[test]
fn a_strand_takes_the_baton_from_a_dead_process() {
    let ring = ring();
    let baton = &ring.between_processes().baton;
    let mut dead = std::process::Command::new("true").spawn().unwrap();
    dead.wait().unwrap();
    baton.share(MAIN, 0);
    baton.locked().give_to(strand(9).key(), dead.id());
    assert_eq!(baton.request(strand(1), 0, None).0, BatonState::Queued);
    baton.wait(strand(1));
    assert!(baton.is_held_by(strand(1)));
}

#[test]
fn a_strand_takes_the_baton_from_a_stopped_process() {
    let ring = ring();
    let baton = &ring.between_processes().baton;
    let mut stopped = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    baton.share(MAIN, 0);
    baton.locked().give_to(strand(9).key(), stopped.id());
    assert_eq!(baton.request(strand(1), 0, None).0, BatonState::Queued);
    // SAFETY: the signal stops our own child.
    unsafe { libc::kill(stopped.id() as libc::pid_t, libc::SIGSTOP) };
    baton.wait(strand(1));
    assert!(baton.is_held_by(strand(1)));
    stopped.kill().unwrap();
    stopped.wait().unwrap();
}

#[test]
fn a_strand_takes_the_baton_from_a_holder_that_stays_in_a_call_or_never_begins() {
    for stays_away in [
        |baton: &Baton| baton.begin_call(1),
        |baton: &Baton| {
            baton.expect(strand(7));
            baton.give_up(MAIN, 0);
        },
    ] {
        let ring = ring();
        let baton = &ring.between_processes().baton;
        baton.share(MAIN, 0);
        stays_away(baton);
        assert_eq!(baton.request(strand(1), 0, None).0, BatonState::Queued);
        baton.wait(strand(1));
        assert!(baton.is_held_by(strand(1)));
        assert_eq!(baton.request(MAIN, 1, None).0, BatonState::Queued, "the holder finds out when it asks again");
    }
}

#[test]
fn a_process_that_ends_or_is_replaced_leaves_no_strand_behind() {
    let ring = ring();
    let baton = &ring.between_processes().baton;
    let process = std::process::id();
    baton.share(MAIN, 0);
    baton.request(strand(1), 0, None);
    let next = StrandId { process: 1, thread: 0 };
    baton.forget(process, Some(next));
    assert!(baton.is_held_by(next) && !baton.is_due(u64::MAX));
    baton.request(strand(2), 0, None);
    baton.forget(process, None);
    assert_eq!(baton.holder.load(Relaxed), 0);
}
