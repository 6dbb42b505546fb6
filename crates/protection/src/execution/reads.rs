//! Breakdown of the latency of reads by cause, from the arrival at the controller's door to the release. Each moment
//! counts for exactly one cause.
//!
//! ```text
//! door ─ re-encryption ─ admission ─ re-encryption ─ queue of memory ─ data ─ what else is awaited, in the order in which it ends ─ release
//!        of any group    line        of its group
//! ```
//! Until the data line has arrived, time counts for the fetch of this line, even if metadata is under way at the same
//! time. An unprotected read would wait as well. After that, time counts for the first cause to end until its end, then
//! for the next cause. The end of a cause is the end of its last work before the release of the line. So the parts of a
//! read add up to its latency, and work that overlaps with another wait costs no time.

use super::Histogram;
use crate::slot::{Kind, Role};
use crate::verbs::LockName;
use derive_more::{AddAssign, Sub};
use enum_map::{Enum, EnumMap};
use serde::Serialize;
use std::cell::Cell;
use units::{Duration, Time};

/// Cause of a part of a read's latency.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Enum, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadPart {
    /// Before the controller: a fill waits until the write of an evicted line has left its write-back buffer.
    WriteBack,
    /// Before the fetch: another access holds the line's lock, or the controller looks up the owner of the page.
    Admission,
    /// Before the fetch: the line's group is being re-encrypted, or the machine's limit of concurrent re-encryptions is
    /// reached.
    Reencryption,
    /// Additional time of the line's fetch due to other requests, refreshes and writes.
    MemoryQueue,
    /// The line's fetch, without waits in the memory's queue.
    Data,
    /// The line's counter, from its cache or memory.
    Counter,
    /// Nodes of the tree and their hashes.
    Tree,
    /// The line's tag, from its cache or memory.
    Tag,
    /// The bitmap with the order of the line's words, from its cache or memory, including its decryption.
    Bitmap,
    /// Waits for busy cryptographic units.
    EngineQueue,
    /// Work in cryptographic units.
    Engine,
    /// Transfers and look-ups on the chip, before and after the controller.
    OnChip,
    /// No part of a read: a core's stores wait for its persist buffer.
    PersistBuffer,
    /// No part of a read: a core's persist fences wait for flushed lines.
    Fence,
}

/// Statistics on the latencies of reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct ReadCounts {
    /// Lines released, completely or in part.
    pub lines: u64,
    /// Sum of the lines' latencies, in femtoseconds.
    pub total_fs: u64,
    /// Sum of each part over these lines, in femtoseconds.
    pub parts_fs: ReadPartTimes,
    /// Distribution of the total latencies.
    pub histogram: Histogram,
}

/// Femtoseconds for each part.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(transparent)]
pub struct ReadPartTimes(EnumMap<ReadPart, u64>);

impl ReadPartTimes {
    /// Femtoseconds of one part.
    pub fn of(&self, part: ReadPart) -> u64 {
        self.0[part]
    }

    /// Femtoseconds of all parts.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// Adds this time to one part.
    pub fn add(&mut self, part: ReadPart, time: Duration) {
        self.0[part] += time.as_fs();
    }

    /// Divides a time among the parts in proportion to their present times, to the femtosecond: the shares add up to
    /// the divided time. If all parts are zero, the whole time counts for transfers on the chip.
    pub fn share(&self, time: Duration) -> ReadPartTimes {
        let (whole, mut shared) = (self.total(), ReadPartTimes::default());
        if whole == 0 {
            shared.add(ReadPart::OnChip, time);
            return shared;
        }
        let (mut so_far, mut given) = (0, 0);
        for (part, fs) in self.0.iter().filter(|(_, fs)| **fs > 0) {
            so_far += fs;
            // Exact at the end, where the ratio is 1: times are far below 2^53 femtoseconds.
            let until = (time.as_fs() as f64 * (so_far as f64 / whole as f64)) as u64;
            shared.0[part] = until - given;
            given = until;
        }
        shared
    }
}

impl std::ops::AddAssign for ReadPartTimes {
    fn add_assign(&mut self, other: ReadPartTimes) {
        self.0.values_mut().zip(other.0.values()).for_each(|(fs, more)| *fs += more);
    }
}

impl std::ops::Sub for ReadPartTimes {
    type Output = ReadPartTimes;

    fn sub(self, other: ReadPartTimes) -> ReadPartTimes {
        ReadPartTimes(EnumMap::from_fn(|part| self.0[part] - other.0[part]))
    }
}

/// One read under way, with the times known so far.
#[derive(Default)]
pub(super) struct ReadProgress {
    /// Time of arrival at the controller's door; `None` once words of the line are released.
    arrived: Cell<Option<Time>>,
    /// Time at which the line's first words were released; `None` again once the remaining words are released.
    began_release: Cell<Option<Time>>,
    /// Time at which the read was admitted.
    let_in: Cell<Time>,
    /// Time at which the line's fetch began, and the additional time over a fetch in an idle memory.
    fetch: Cell<Option<(Time, Duration)>>,
    /// Latest arrival of words that follow the first ones.
    later_words: Cell<Time>,
    /// Time at which the latest work of each part ended.
    ends: EnumMap<ReadPart, Cell<Time>>,
}

impl ReadProgress {
    /// Begins an access, which arrives at the door.
    #[inline]
    pub fn begin(&self, now: Time) {
        self.arrived.set(Some(now));
        // The end times of earlier work need not be reset: they are in the past, so they have no effect on this read.
        self.fetch.set(None);
        self.began_release.set(None);
    }

    /// Admits the access: renewals no longer keep it at the door.
    #[inline]
    pub fn let_in(&self, now: Time) {
        self.let_in.set(now);
    }

    /// Notes that the access has taken a lock.
    #[inline]
    pub fn locked(&self, name: LockName, now: Time) {
        match name {
            LockName::Line(_) => self.ended(ReadPart::Admission, now),
            LockName::Group(_) => self.ended(ReadPart::Reencryption, now),
            LockName::Metadata(_) | LockName::Stage(_) | LockName::Tag(_) => {}
            LockName::Handler | LockName::RecordPath => {}
        }
    }

    /// Notes that work of a part has ended.
    #[inline]
    pub fn ended(&self, part: ReadPart, at: Time) {
        let end = &self.ends[part];
        end.set(end.get().max(at));
    }

    /// Notes that a line, or at least the words that the reader needs first, has arrived. Its fetch began at `began`
    /// and waited for `waited`.
    #[inline]
    pub fn fetched(&self, role: Role, (began, waited): (Time, Duration), at: Time) {
        if role == Role::Data && self.fetch.get().is_none() {
            self.fetch.set(Some((began, waited)));
        }
        self.ended(part_of(role), at);
    }

    /// Notes that words of the line have arrived after the words wanted first.
    #[inline]
    pub fn words_arrived(&self, at: Time) {
        self.later_words.set(self.later_words.get().max(at));
    }

    /// Releases the words wanted first, or the whole line. Returns the latency and its parts, at the first release only.
    pub fn released(&self, now: Time, whole: bool) -> Option<(Duration, ReadPartTimes)> {
        let arrived = self.arrived.take()?;
        if whole {
            self.ended(ReadPart::Data, self.later_words.get());
        } else {
            self.began_release.set(Some(now));
        }
        let (began, waited) = self.fetch.get().unwrap_or((arrived, Duration::ZERO));
        let mut way = ReadDivision { reached: arrived, now, parts: ReadPartTimes::default() };
        way.reach(ReadPart::Reencryption, self.let_in.get().min(began));
        way.reach(ReadPart::Admission, self.ends[ReadPart::Admission].get().min(began));
        way.reach(ReadPart::Reencryption, self.ends[ReadPart::Reencryption].get().min(began));
        way.reach(ReadPart::Admission, began);
        way.reach(ReadPart::MemoryQueue, began + waited);
        Some((now.since(arrived), self.arriving(way)))
    }

    /// Releases the remaining words of a line, after words that were released first. Returns the parts of the time since then.
    #[inline]
    pub fn followed(&self, now: Time) -> Option<ReadPartTimes> {
        let reached = self.began_release.take()?;
        self.ended(ReadPart::Data, self.later_words.get());
        Some(self.arriving(ReadDivision { reached, now, parts: ReadPartTimes::default() }))
    }

    /// Counts the wait for the line's words, and then the wait for other work.
    #[inline]
    fn arriving(&self, mut way: ReadDivision) -> ReadPartTimes {
        way.reach(ReadPart::Data, self.ends[ReadPart::Data].get());
        while way.reached < way.now {
            let (end, part) = self.next_to_end(way.reached).unwrap_or((way.now, ReadPart::Admission));
            way.reach(part, end);
        }
        way.parts
    }

    /// Returns the part that is the next to end after this time.
    #[inline]
    fn next_to_end(&self, after: Time) -> Option<(Time, ReadPart)> {
        AWAITED.into_iter().map(|part| (self.ends[part].get(), part)).filter(|(end, _)| *end > after).min()
    }
}

/// A period of a read until now, divided into parts up to `reached`.
struct ReadDivision {
    reached: Time,
    now: Time,
    parts: ReadPartTimes,
}

impl ReadDivision {
    /// Counts the time until this end for this part.
    #[inline]
    fn reach(&mut self, part: ReadPart, end: Time) {
        let end = end.min(self.now).max(self.reached);
        self.parts.0[part] += end.since(self.reached).as_fs();
        self.reached = end;
    }
}

/// Parts that may be awaited after the line has arrived.
const AWAITED: [ReadPart; 7] = [
    ReadPart::Counter,
    ReadPart::Tree,
    ReadPart::Tag,
    ReadPart::Bitmap,
    ReadPart::EngineQueue,
    ReadPart::Engine,
    ReadPart::OnChip,
];

/// Returns the part for which work on a line of this role counts.
pub(super) fn part_of(role: Role) -> ReadPart {
    match role.kind() {
        Kind::Data => ReadPart::Data,
        Kind::Counters | Kind::Records => ReadPart::Counter,
        Kind::Tags => ReadPart::Tag,
        Kind::Nodes => ReadPart::Tree,
        Kind::Owners | Kind::Contexts => ReadPart::Admission,
        Kind::Bitmaps => ReadPart::Bitmap,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ReadPart as P;
    use units::LineAddr;
    use units::random::Random;

    fn at(ns: u64) -> Time {
        Time::ZERO + Duration::from_ns(ns)
    }

    fn parts(progress: &ReadProgress, now: u64) -> Vec<(ReadPart, u64)> {
        let (took, parts) = progress.released(at(now), true).unwrap();
        assert_eq!(took.as_fs(), parts.total());
        of_some_length(parts)
    }

    fn of_some_length(parts: ReadPartTimes) -> Vec<(ReadPart, u64)> {
        parts.0.into_iter().filter(|(_, fs)| *fs > 0).map(|(part, fs)| (part, fs / 1_000_000)).collect()
    }

    #[test]
    fn read_time_is_attributed_to_missing_lines_and_then_to_the_step_that_ends_next() {
        let progress = ReadProgress::default();
        progress.begin(at(100));
        progress.fetched(Role::Counter, (at(110), Duration::ZERO), at(130));
        progress.fetched(Role::Data, (at(110), Duration::from_ns(5)), at(150));
        progress.fetched(Role::Tag, (at(110), Duration::ZERO), at(170));
        progress.ended(P::EngineQueue, at(172));
        progress.ended(P::Engine, at(180));
        let expected =
            [(P::Admission, 10), (P::MemoryQueue, 5), (P::Data, 35), (P::Tag, 20), (P::EngineQueue, 2), (P::Engine, 8)];
        assert_eq!(parts(&progress, 180), expected);
        assert!(progress.released(at(190), true).is_none(), "it is released once");
    }

    #[test]
    fn read_time_of_a_step_beyond_the_release_counts_only_until_the_release() {
        let progress = ReadProgress::default();
        progress.begin(at(0));
        progress.fetched(Role::Data, (at(0), Duration::ZERO), at(50));
        progress.ended(P::Tree, at(90));
        assert_eq!(parts(&progress, 60), [(P::Data, 50), (P::Tree, 10)]);
        progress.begin(at(100));
        progress.fetched(Role::Data, (at(100), Duration::ZERO), at(140));
        assert_eq!(parts(&progress, 140), [(P::Data, 40)]);
    }

    #[test]
    fn the_arrival_of_later_words_counts_only_in_the_read_time_of_a_whole_line() {
        for (whole, expected) in [(false, [(P::Data, 100), (P::Engine, 96)]), (true, [(P::Data, 135), (P::Engine, 61)])]
        {
            let progress = ReadProgress::default();
            progress.begin(at(0));
            progress.fetched(Role::Data, (at(0), Duration::ZERO), at(100));
            progress.words_arrived(at(135));
            progress.ended(P::Engine, at(196));
            let (_, parts) = progress.released(at(196), whole).unwrap();
            assert_eq!(of_some_length(parts), expected);
        }
    }

    #[test]
    fn the_read_time_of_later_words_is_attributed_to_data_and_then_to_the_next_step() {
        let progress = ReadProgress::default();
        progress.begin(at(0));
        progress.fetched(Role::Data, (at(0), Duration::ZERO), at(100));
        progress.words_arrived(at(135));
        progress.ended(P::Engine, at(110));
        assert!(progress.released(at(110), false).is_some());
        progress.ended(P::EngineQueue, at(150));
        progress.ended(P::Engine, at(160));
        let rest = progress.followed(at(160)).unwrap();
        assert_eq!(of_some_length(rest), [(P::Data, 25), (P::EngineQueue, 15), (P::Engine, 10)]);
        assert!(progress.followed(at(170)).is_none() && progress.released(at(170), true).is_none());
        // A line that is released as a whole has no remaining words, and neither has the next one.
        progress.begin(at(200));
        assert!(progress.released(at(210), true).is_some() && progress.followed(at(210)).is_none());
    }

    #[test]
    fn read_time_before_a_fetch_is_attributed_to_renewals_or_admission() {
        let progress = ReadProgress::default();
        // The second access of a reader: end times from the first access have no effect.
        for origin in [0, 1_000] {
            progress.begin(at(origin));
            progress.let_in(at(origin + 5));
            progress.locked(LockName::Line(LineAddr(1)), at(origin + 12));
            progress.locked(LockName::Group(0), at(origin + 20));
            progress.fetched(Role::Data, (at(origin + 23), Duration::from_ns(4)), at(origin + 50));
            let expected = [(P::Admission, 7 + 3), (P::Reencryption, 5 + 8), (P::MemoryQueue, 4), (P::Data, 23)];
            assert_eq!(parts(&progress, origin + 50), expected);
        }
    }

    #[test]
    fn waits_for_other_lines_under_a_shared_tag_count_as_data_time_of_the_read() {
        let progress = ReadProgress::default();
        progress.begin(at(0));
        progress.fetched(Role::Data, (at(0), Duration::from_ns(5)), at(40));
        progress.fetched(Role::Data, (at(0), Duration::from_ns(30)), at(60));
        assert_eq!(parts(&progress, 60), [(P::MemoryQueue, 5), (P::Data, 55)]);
    }

    #[test]
    fn the_division_of_read_time_among_parts_is_proportional_and_exact() {
        let mut random = Random::new(5);
        for _ in 0..500 {
            let mut whole = ReadPartTimes::default();
            for part in [P::WriteBack, P::Data, P::Tree, P::Engine, P::OnChip] {
                whole.add(part, Duration::from_fs(random.below(1_000_000_000) * random.below(2)));
            }
            let time = random.below(whole.total() + 1);
            let shared = whole.share(Duration::from_fs(time));
            assert_eq!(shared.total(), time);
            for (part, fs) in &whole.0 {
                let exact = u128::from(time) * u128::from(*fs) / u128::from(whole.total().max(1));
                assert!(exact.abs_diff(shared.of(part).into()) <= 2, "{part:?}: {whole:?} over {time}");
            }
        }
        assert_eq!(ReadPartTimes::default().share(Duration::from_fs(7)).of(P::OnChip), 7, "what took nothing");
    }
}
