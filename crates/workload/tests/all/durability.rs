//! Tests which lines a recorded program makes durable. At each call of `msync` and `fsync`, exactly the lines that the
//! program stored to must be flushed, and a fence must follow. At each flush instruction, the recorder must send the
//! line that the instruction names. The programs are C, compiled for the test. The tests are skipped where QEMU is not
//! installed.
//!
//! A program stores each number from [`FIRST`] on once, so the numbers identify the lines. A second store of a number
//! only saves a register that contains it. The expected events were derived by hand from the two manual pages.

use crate::common::compiled::Compiled;
use crate::common::recorder;
use casemate_workload::live::{Live, LiveOptions};
use casemate_workload::shadow::check_values;
use casemate_workload::shadow::memory::ShadowMemory;
use casemate_workload::stream::{Access, AccessKind};
use casemate_workload::trace::{TraceReader, record};
use casemate_workload::walker::{Event, Walker};
use casemate_workload::{Finish, Source};
use std::collections::{BTreeMap, BTreeSet};
use units::VirtAddr;

/// First number that a program stores.
const FIRST: u64 = 0xca5e_3a7e_0000_0000;

/// Relevant event of a recording: stores and flushed lines are identified by their numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Durability {
    Store(u64),
    /// A flush of the line of the store with this number.
    Flush(u64),
    Fence,
}
use Durability::{Fence, Flush, Store};

/// Returns the address and the number, if the access stores one of the program's numbers.
fn number_of(access: &Access) -> Option<(VirtAddr, u64)> {
    let number = access.value.filter(|_| access.kind == AccessKind::Store)?.wrapping_sub(FIRST);
    (number < 100).then_some((access.addr, number))
}

/// Returns the events of each process, in order, and the finish of the program.
fn events_of(source: impl Source) -> (Vec<Vec<Durability>>, Finish) {
    let mut walker = Walker::new(source);
    let mut memory = ShadowMemory::default();
    let (mut found, mut lines, mut seen) = (BTreeMap::<u32, Vec<Durability>>::new(), BTreeMap::new(), BTreeSet::new());
    while let Some(event) = walker.next().unwrap() {
        match &event {
            Event::Instruction(step) => {
                let process = step.strand.process;
                for access in step.accesses.iter().filter(|access| access.kind == AccessKind::Store) {
                    memory.store(process, access.addr, access.bytes, access.value.unwrap());
                }
                if let Some((addr, number)) = step.accesses.iter().find_map(number_of)
                    && seen.insert(number)
                {
                    lines.insert(memory.line_id(process, addr), number);
                    found.entry(process).or_default().push(Store(number));
                }
            }
            Event::Flush { strand, addr } => {
                let line = memory.line_id(strand.process, *addr);
                found.entry(strand.process).or_default().push(Flush(lines[&line]));
            }
            Event::Fence { strand } => found.entry(strand.process).or_default().push(Fence),
            Event::Sync { strand, object, part } => {
                if let Some(synced) = memory.sync(*object, part) {
                    let found = found.entry(strand.process).or_default();
                    found.extend(synced.iter().filter_map(|line| Some(Flush(*lines.get(line)?))));
                    found.push(Fence);
                }
            }
            _ => {}
        }
        memory.follow(&event);
    }
    (found.into_values().collect(), walker.origin().finish)
}

/// Runs the body of a program live and stores its trace. Returns the events, which must be the same in both.
fn found(name: &str, body: &str) -> Option<Vec<Vec<Durability>>> {
    let recorder = recorder()?;
    let program = Compiled::new(name, body);
    let options = program.options(recorder);
    let (live, finish) = events_of(Live::start(options.clone()).unwrap());
    assert_eq!(finish, Finish::Exited(0));
    let trace = program.file("trace");
    record(Live::start(options).unwrap(), &trace).unwrap();
    assert_eq!(events_of(TraceReader::open(&trace).unwrap()).0, live);
    Some(live)
}

#[test]
fn msync_flushes_the_stores_to_its_range_and_is_a_fence() {
    let body = "
        char *at = map(file(argv[1]), MAP_SHARED, 0, 2);
        store(at + 3 * LINE, 1); store(at, 2); store(at + PAGE, 3); store(at + 8, 4);
        check(msync(at, 100, MS_SYNC), 0);
        store(at, 5);
        check(msync(at, 2 * PAGE, MS_SYNC), 0);
        check(msync(at, 2 * PAGE, MS_SYNC), 0);";
    let Some(found) = found("msync", body) else { return };
    let expected =
        [Store(1), Store(2), Store(3), Store(4), Flush(4), Flush(1), Fence, Store(5), Flush(5), Flush(3), Fence, Fence];
    assert_eq!(found, [expected]);
}

#[test]
fn an_asynchronous_or_failed_msync_is_neither_a_flush_nor_a_fence() {
    let body = "
        char *at = map(file(argv[1]), MAP_SHARED, 0, 1);
        store(at, 1);
        check(msync(at, PAGE, MS_ASYNC), 0);
        check(msync(at + 1, PAGE, MS_SYNC), -1);
        store(at + LINE, 2);
        check(msync(at, PAGE, MS_SYNC), 0);";
    let Some(found) = found("async", body) else { return };
    assert_eq!(found, [[Store(1), Store(2), Flush(1), Flush(2), Fence]]);
}

#[test]
fn fsync_and_fdatasync_flush_their_file_and_no_other_whether_it_is_still_mapped() {
    let body = "
        int one = file(argv[1]), two = file(argv[2]), again = open(argv[1], O_RDWR);
        char *first = map(one, MAP_SHARED, 4, 1), *second = map(one, MAP_SHARED, 0, 1), *other = map(two, MAP_SHARED, 0, 1);
        char *private = map(one, MAP_PRIVATE, 0, 1), *nameless = map(-1, MAP_SHARED | MAP_ANONYMOUS, 0, 1);
        store(first, 1); store(second, 2); store(other, 3); store(private, 4); store(nameless, 5);
        check(msync(nameless, PAGE, MS_SYNC) | msync(private, PAGE, MS_SYNC), 0);
        check(fdatasync(again), 0);
        store(second, 6);
        check(fsync(one), 0);
        check(fsync(two), 0);
        check(fsync(-1), -1);
        int plain = open(argv[2], O_RDONLY);
        munmap(other, PAGE);
        check(fsync(plain), 0);";
    let Some(found) = found("fsync", body) else { return };
    let stores = (1..=5).map(Store);
    let expected: Vec<Durability> =
        stores.chain([Flush(2), Flush(1), Fence, Store(6), Flush(6), Fence, Flush(3), Fence, Fence]).collect();
    assert_eq!(found, [expected]);
}

#[test]
fn a_part_of_a_file_is_flushed_through_all_its_mappings() {
    let body = "
        int one = file(argv[1]);
        char *whole = map(one, MAP_SHARED, 0, 4), *third = map(one, MAP_SHARED, 2, 1);
        store(whole + 2 * PAGE, 1); store(whole + PAGE, 2); store(third + LINE, 3);
        check(msync(third, PAGE, MS_SYNC), 0);";
    let Some(found) = found("aliases", body) else { return };
    assert_eq!(found, [[Store(1), Store(2), Store(3), Flush(1), Flush(3), Fence]]);
}

#[test]
fn lines_of_a_file_are_flushed_although_they_are_unmapped_replaced_or_moved() {
    let body = "
        int one = file(argv[1]);
        char *at = map(one, MAP_SHARED, 0, 4);
        store(at, 1); store(at + PAGE, 2); store(at + 2 * PAGE, 3); store(at + 3 * PAGE, 4);
        munmap(at + PAGE, PAGE);
        mmap(at + 3 * PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        store(at + 3 * PAGE, 5);
        char *moved = mremap(at + 2 * PAGE, PAGE, 2 * PAGE, MREMAP_MAYMOVE);
        if (moved == MAP_FAILED) abort();
        store(moved + LINE, 6); store(moved + PAGE, 7);
        check(fsync(one), 0);
        char *fourth = map(one, MAP_SHARED, 3, 1);
        if (mremap(moved, 2 * PAGE, PAGE, 0) != moved) abort();
        store(moved, 8);
        if (mremap(moved, PAGE, 2 * PAGE, 0) != moved) abort();
        store(moved + PAGE, 9);
        check(msync(fourth, PAGE, MS_SYNC), 0);
        check(msync(moved, PAGE, MS_SYNC), 0);";
    let Some(found) = found("moved", body) else { return };
    let stores = (1..=7).map(Store);
    let flushed = [1, 2, 3, 6, 7].map(Flush);
    let later = [Fence, Store(8), Store(9), Flush(9), Fence, Flush(8), Fence];
    assert_eq!(found, [stores.chain(flushed).chain(later).collect::<Vec<Durability>>()]);
}

#[test]
fn msync_of_a_child_flushes_stores_of_the_child_and_its_parent() {
    let body = "
        char *at = map(file(argv[1]), MAP_SHARED, 0, 1);
        store(at, 1);
        if (fork() == 0) { store(at + LINE, 2); check(msync(at, PAGE, MS_SYNC), 0); _exit(0); }
        wait(0);
        check(msync(at, PAGE, MS_SYNC), 0);";
    let Some(found) = found("fork", body) else { return };
    assert_eq!(found, [vec![Store(1), Fence], vec![Store(2), Flush(1), Flush(2), Fence]]);
}

#[test]
fn msync_flushes_stores_of_other_threads() {
    let body = "
        char *at = map(file(argv[1]), MAP_SHARED, 0, 1);
        void *work(void *to) { store(to, 1); return to; }
        pthread_t other;
        check(pthread_create(&other, 0, work, at) | pthread_join(other, 0), 0);
        store(at + LINE, 2);
        check(msync(at, PAGE, MS_SYNC), 0);";
    let Some(found) = found("thread", body) else { return };
    assert_eq!(found, [[Store(1), Store(2), Flush(1), Flush(2), Fence]]);
}

#[test]
fn stores_and_flushes_outside_the_recorded_region_are_not_recorded() {
    let Some(recorder) = recorder() else { return };
    let body = "
        char *at = map(file(argv[1]), MAP_SHARED, 0, 1);
        #define MARK() __asm__ volatile(\"xchg %%rbx, %%rbx\" ::: \"memory\"); sched_yield()
        store(at, 1); MARK(); store(at + LINE, 2); check(msync(at, PAGE, MS_SYNC), 0);
        store(at + 2 * LINE, 3); MARK(); check(msync(at, PAGE, MS_SYNC), 0);";
    let program = Compiled::new("region", body);
    let options = LiveOptions { marked_region: true, ..program.options(recorder) };
    assert_eq!(events_of(Live::start(options).unwrap()).0, [[Store(2), Flush(2), Fence, Store(3)]]);
}

/// The flushes use all forms of addresses: relative to the instruction, base with index, and a thread's segment.
#[test]
fn flush_instructions_of_a_recorded_program_flush_the_lines_that_they_address() {
    let body = "
        static _Alignas(LINE) char fixed[2 * LINE];
        static _Thread_local _Alignas(LINE) char own[LINE];
        char (*at)[LINE] = aligned_alloc(LINE, 8 * LINE);
        volatile long second = 1, fourth = 3;
        store(fixed + LINE, 1); clwb((uint64_t *)(fixed + LINE));
        store(own, 2); clflush((uint64_t *)own); sfence();
        store(at[second], 3); store(at[fourth], 4); store(at[fourth] + 8, 5);
        clflushopt((uint64_t *)at[fourth]); clwb((uint64_t *)(at[second] + 56)); sfence();
        sfence();";
    let Some(found) = found("own", body) else { return };
    let expected =
        [Store(1), Flush(1), Store(2), Flush(2), Fence, Store(3), Store(4), Store(5), Flush(5), Flush(3), Fence];
    assert_eq!(found, [expected]);
}

#[test]
fn non_temporal_stores_flush_their_line_once_at_the_next_line_or_fence() {
    let body = "
        uint64_t *at = aligned_alloc(LINE, 4 * LINE);
        past_caches(at, 1); past_caches(at + 1, 2); past_caches(at + 8, 3); store((char *)(at + 16), 4); sfence();
        past_caches(at + 24, 5); __asm__ volatile(\"mfence\" ::: \"memory\"); sfence();";
    let Some(found) = found("past", body) else { return };
    let expected = [Store(1), Store(2), Flush(2), Store(3), Store(4), Flush(3), Fence, Store(5), Flush(5), Fence];
    assert_eq!(found, [expected]);
}

/// Two threads step through the same code at once, and every loaded value must be right.
#[test]
fn concurrent_flushes_of_threads_are_recorded_with_their_own_lines_and_values() {
    const EACH: u64 = 4000;
    let Some(recorder) = recorder() else { return };
    let program = Compiled::new(
        "threads",
        "
        static uint64_t *at;
        at = aligned_alloc(LINE, 2 * LINE);
        void *run(void *which) {
            uint64_t *line = at + 8 * (which != 0);
            store((char *)line, which != 0);
            for (uint64_t i = 0; i < 4000; i++) {
                *(volatile uint64_t *)(line + 1) = i; clwb(line); sfence();
                if (*(volatile uint64_t *)(line + 1) != i) abort();
            }
            return 0;
        }
        pthread_t other;
        pthread_create(&other, 0, run, (void *)1); run(0); pthread_join(other, 0);",
    );
    let options = LiveOptions { load_values: true, ..program.options(recorder) };
    let report = check_values(Live::start(options.clone()).unwrap()).unwrap();
    assert_eq!(report.wrong, 0, "{report:?}");
    let (found, finish) = events_of(Live::start(options).unwrap());
    assert_eq!(finish, Finish::Exited(0));
    for what in [Flush(0), Flush(1)] {
        assert_eq!(found[0].iter().filter(|found| **found == what).count() as u64, EACH, "{what:?}");
    }
    assert_eq!(found[0].iter().filter(|found| **found == Fence).count() as u64, 2 * EACH);
}
