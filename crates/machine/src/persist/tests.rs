//! Tests of each rule of a persist buffer, and of all rules against a naive model.

use super::*;
use proptest::prelude::*;

fn of(entries: u32, drain_from: u32, drain_to: u32) -> PersistBuffer {
    PersistBuffer::new(PersistBufferConfig { entries, drain_from, drain_to })
}

fn stores(buffer: &mut PersistBuffer, lines: impl IntoIterator<Item = u64>) -> Vec<Finds> {
    lines.into_iter().map(|line| buffer.store(LineAddr(line))).collect()
}

fn drains(buffer: &mut PersistBuffer) -> Vec<u64> {
    std::iter::from_fn(|| buffer.next_to_drain()).map(|line| line.0).collect()
}

use Finds::{Allocated, Full, Leaving, Resident};

#[test]
fn a_line_has_one_persist_buffer_entry_for_any_number_of_stores() {
    let mut buffer = of(4, 4, 0);
    assert_eq!(stores(&mut buffer, [1, 1, 2, 3, 1]), [Allocated, Resident, Allocated, Allocated, Resident]);
    assert_eq!(buffer.len(), 3);
}

#[test]
fn a_persist_buffer_drains_from_the_upper_watermark_down_to_the_lower_one() {
    let mut buffer = of(8, 6, 4);
    stores(&mut buffer, 0..5);
    assert_eq!(drains(&mut buffer), [0; 0]);
    stores(&mut buffer, [5]);
    assert_eq!(drains(&mut buffer), [0, 1]);
    assert_eq!(buffer.resident().map(|line| line.0).collect::<Vec<_>>(), [2, 3, 4, 5]);
    assert_eq!(drains(&mut buffer), [0; 0], "only from the upper watermark again");
    stores(&mut buffer, [6, 7]);
    assert_eq!(drains(&mut buffer), [2, 3]);
}

#[test]
fn persist_buffer_entries_drain_in_allocation_order_despite_later_stores() {
    let mut buffer = of(4, 3, 0);
    stores(&mut buffer, [7, 5, 7, 6, 7]);
    assert_eq!(drains(&mut buffer), [7, 5, 6]);
}

#[test]
fn a_store_that_misses_a_full_persist_buffer_waits_until_a_drained_entry_has_left() {
    let mut buffer = of(3, 3, 2);
    assert_eq!(stores(&mut buffer, 0..3), [Allocated; 3]);
    assert_eq!(stores(&mut buffer, [3, 1]), [Full, Resident]);
    assert_eq!(drains(&mut buffer), [0]);
    assert_eq!(stores(&mut buffer, [3]), [Full], "an entry that is leaving keeps its room");
    buffer.left(LineAddr(0));
    assert_eq!(stores(&mut buffer, [3]), [Allocated]);
}

#[test]
fn a_draining_persist_buffer_entry_accepts_no_store_and_its_line_gets_a_new_entry() {
    let mut buffer = of(4, 2, 1);
    stores(&mut buffer, [1, 2]);
    assert_eq!(drains(&mut buffer), [1]);
    assert_eq!(stores(&mut buffer, [1, 2]), [Leaving, Resident]);
    buffer.left(LineAddr(1));
    assert_eq!(stores(&mut buffer, [1]), [Allocated]);
    assert_eq!(drains(&mut buffer), [2], "what was rewritten is the youngest");
}

#[test]
fn a_persist_buffer_entry_flushed_by_a_remote_read_occupies_room_until_drained() {
    let mut buffer = of(3, 3, 1);
    stores(&mut buffer, [1, 2]);
    assert_eq!([2, 3].map(|line| buffer.flush(LineAddr(line))), [true, false]);
    assert!(!buffer.flush(LineAddr(2)), "it is leaving already");
    assert_eq!(stores(&mut buffer, [2, 4, 5]), [Leaving, Allocated, Full]);
    buffer.left(LineAddr(2));
    assert_eq!(stores(&mut buffer, [5]), [Allocated]);
    assert_eq!(drains(&mut buffer), [1, 4], "what was flushed is not among those that leave by age");
}

#[test]
fn a_remote_write_removes_a_persist_buffer_entry_unless_it_is_draining() {
    let mut buffer = of(3, 3, 1);
    stores(&mut buffer, [1, 2, 3]);
    assert_eq!(drains(&mut buffer), [1, 2]);
    assert_eq!([1, 3, 4].map(|line| buffer.give_up(LineAddr(line))), [false, true, false]);
    assert_eq!(buffer.len(), 2);
    assert_eq!(stores(&mut buffer, [3, 1]), [Allocated, Leaving], "it comes back as a new one");
}

#[test]
#[should_panic(expected = "left the persist buffer")]
fn completing_a_drain_that_was_not_started_panics() {
    let mut buffer = of(4, 4, 0);
    stores(&mut buffer, [1]);
    buffer.left(LineAddr(1));
}

#[test]
fn persist_buffer_watermark_fractions_round_towards_draining_later_and_longer() {
    let of = |entries, from, to| {
        let config = PersistBufferConfig::of_fractions(entries, from, to).unwrap();
        (config.drain_from, config.drain_to)
    };
    assert_eq!(of(32, 0.75, 0.5), (24, 16));
    assert_eq!(of(100, 0.55, 0.29), (55, 29), "exact products stay what they are");
    assert_eq!(of(5, 0.75, 0.5), (4, 2));
    assert_eq!([of(8, 0.75, 0.5), of(10, 0.75, 0.5), of(10, 0.8, 0.75)], [(6, 4), (8, 5), (8, 7)]);
    assert_eq!(
        [of(1, 0.75, 0.5), of(1, 0.1, 0.0), of(2, 0.6, 0.5), of(8, 1.0, 0.99)],
        [(1, 0), (1, 0), (2, 1), (8, 7)]
    );
}

#[test]
fn an_invalid_persist_buffer_is_refused_with_the_values() {
    let refused =
        |entries, drain_from, drain_to| PersistBufferConfig { entries, drain_from, drain_to }.check().unwrap_err();
    assert_eq!(refused(0, 1, 0), "entries is 0: expected at least 1");
    assert_eq!(refused(8, 9, 0), "drain_from is 9: expected 1 to 8 entries");
    assert_eq!(refused(8, 0, 0), "drain_from is 0: expected 1 to 8 entries");
    assert_eq!(refused(8, 6, 6), "drain_to is 6: expected less than drain_from, which is 6");
    let refused = |entries, from, to| PersistBufferConfig::of_fractions(entries, from, to).unwrap_err();
    assert_eq!(refused(0, 0.75, 0.5), "entries is 0: expected at least 1");
    assert_eq!(refused(8, 1.5, 0.5), "drain_from is 1.5: expected a fraction from 0 to 1");
    assert_eq!(refused(8, f64::NAN, 0.5), "drain_from is NaN: expected a fraction from 0 to 1");
    assert_eq!(refused(8, 0.5, -0.1), "drain_to is -0.1: expected a fraction from 0 to 1");
    assert_eq!(refused(8, 0.5, 0.75), "drain_to is 0.75: expected less than drain_from, which is 0.5");
    assert_eq!(refused(8, 0.5, 0.5), "drain_to is 0.5: expected less than drain_from, which is 0.5");
}

/// Reference model: every entry with the moment of its allocation, and a search for each operation.
struct Naive {
    config: PersistBufferConfig,
    entries: Vec<(u64, u64, bool)>,
    moment: u64,
    /// True from reaching the upper watermark until reaching the lower one.
    draining: bool,
}

impl Naive {
    fn resident(&self) -> u32 {
        self.entries.iter().filter(|entry| !entry.2).count() as u32
    }

    fn store(&mut self, line: u64) -> Finds {
        self.moment += 1;
        if let Some(entry) = self.entries.iter().find(|entry| entry.1 == line) {
            return if entry.2 { Leaving } else { Resident };
        }
        if self.entries.len() as u32 >= self.config.entries {
            return Full;
        }
        self.entries.push((self.moment, line, false));
        self.draining |= self.resident() >= self.config.drain_from;
        Allocated
    }

    fn next_to_drain(&mut self) -> Option<u64> {
        if self.resident() <= self.config.drain_to {
            self.draining = false;
        }
        let oldest = self.entries.iter_mut().filter(|entry| !entry.2).min()?;
        self.draining.then(|| {
            oldest.2 = true;
            oldest.1
        })
    }

    fn left(&mut self, line: u64) {
        self.entries.retain(|entry| entry.1 != line);
    }

    /// Applies another core's request for a line. Returns true if the line had an entry that was not leaving.
    fn remote(&mut self, line: u64, writes: bool) -> bool {
        let Some(at) = self.entries.iter().position(|entry| entry.1 == line && !entry.2) else { return false };
        if writes {
            self.entries.remove(at);
        } else {
            self.entries[at].2 = true;
        }
        true
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// The test requests drains one at a time and at any moment, and ends them in any order.
    #[test]
    fn a_persist_buffer_equals_a_naive_model_under_random_operations(
        (entries, from, to) in (1..12u32, any::<u32>(), any::<u32>()),
        steps in proptest::collection::vec((0..6u8, 0..16u64), 1..300),
    ) {
        let drain_from = 1 + from % entries;
        let config = PersistBufferConfig { entries, drain_from, drain_to: to % drain_from };
        let mut buffer = PersistBuffer::new(config);
        let mut naive = Naive { config, entries: Vec::new(), moment: 0, draining: false };
        let mut leaving = Vec::new();
        for (what, number) in steps {
            match what {
                0 | 1 => prop_assert_eq!(buffer.store(LineAddr(number)), naive.store(number)),
                2 => {
                    let chosen = buffer.next_to_drain().map(|line| line.0);
                    prop_assert_eq!(chosen, naive.next_to_drain());
                    leaving.extend(chosen);
                }
                3 => {
                    let flushed = buffer.flush(LineAddr(number));
                    prop_assert_eq!(flushed, naive.remote(number, false));
                    leaving.extend(flushed.then_some(number));
                }
                4 => prop_assert_eq!(buffer.give_up(LineAddr(number)), naive.remote(number, true)),
                _ if leaving.is_empty() => {}
                _ => {
                    let line = leaving.swap_remove(number as usize % leaving.len());
                    buffer.left(LineAddr(line));
                    naive.left(line);
                }
            }
            prop_assert_eq!((buffer.len(), buffer.is_empty()), (naive.entries.len(), naive.entries.is_empty()));
            let resident: Vec<u64> = naive.entries.iter().filter(|entry| !entry.2).map(|entry| entry.1).collect();
            prop_assert_eq!(buffer.resident().map(|line| line.0).collect::<Vec<_>>(), resident);
        }
    }
}
