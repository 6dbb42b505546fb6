//! Programs whose persistent memory is only their shared file mappings. The tests use kernels, and mark some lines of their memory as lines
//! of a file.

use crate::common::{kernel, machine_for};
use crate::threads::Threads;
use casemate_runner::{Record, RunControl, RunError, RunOptions, run};
use catalogue::Machine;
use std::collections::BTreeSet;
use std::sync::Arc;
use units::{Bytes, VirtAddr};
use wire::word::{self, Control, MAPPED, TraceWord};
use workload::shadow::ProcessShadow;
use workload::stream::{AccessKind, Batch};
use workload::walker::{Event, Walker};
use workload::{Origin, Persistent, Source, WorkloadError};

const INSTRUCTIONS: u64 = 60_000;
const SCHEMES: [&str; 4] = ["secpb-cobcm", "secpb-nogap", "bbb", "plp-sp"];

/// Predicate for lines of a file, by the address of the first byte.
type IsMapped = fn(VirtAddr) -> bool;

/// A program with marked lines.
struct Mapping {
    program: Box<dyn Source>,
    origin: Origin,
    is_mapped: IsMapped,
}

impl Mapping {
    fn of(program: Box<dyn Source>, is_mapped: IsMapped) -> Box<dyn Source> {
        let origin = Origin { persistent: Persistent::Mapped, ..program.origin().clone() };
        Box::new(Mapping { program, origin, is_mapped })
    }
}

impl Source for Mapping {
    fn next_batch(&mut self) -> Result<Option<Arc<Batch>>, WorkloadError> {
        let Some(batch) = self.program.next_batch()? else { return Ok(None) };
        let mut batch = Arc::unwrap_or_clone(batch);
        let mut at = 0;
        while let Some(count) = word::record_words(&batch.words[at..]) {
            if let TraceWord::Control { which: Some(Control::Line), detail, operand } = word::parse(batch.words[at])
                && (self.is_mapped)(VirtAddr(operand))
            {
                batch.words[at] = word::control(Control::Line, detail | MAPPED, operand);
            }
            at += count;
        }
        Ok(Some(Arc::new(batch)))
    }

    fn origin(&self) -> &Origin {
        &self.origin
    }
}

/// A program that maps files over all its lines after some batches, with the same content.
struct Late {
    program: Box<dyn Source>,
    origin: Origin,
    shadow: ProcessShadow,
    lines: BTreeSet<u64>,
    batches_before: u32,
}

impl Late {
    fn of(program: Box<dyn Source>, batches_before: u32) -> Box<dyn Source> {
        let origin = Origin { persistent: Persistent::Mapped, ..program.origin().clone() };
        Box::new(Late { program, origin, shadow: ProcessShadow::default(), lines: BTreeSet::new(), batches_before })
    }

    /// All lines so far, as words of a batch.
    fn mapped(&mut self) -> Vec<u64> {
        let mut words = Vec::new();
        for line in &self.lines {
            words.push(word::control(Control::Line, MAPPED, *line));
            let content = self.shadow.line(VirtAddr(*line)).unwrap();
            words.extend(content.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)));
        }
        words
    }

    fn follow(&mut self, words: &[u64]) {
        let mut at = 0;
        while let Some(count) = word::record_words(&words[at..]) {
            let loaded_words = &words[at + 1..at + count];
            match word::parse(words[at]) {
                TraceWord::Control { which: Some(Control::Line), operand, .. } => {
                    let content: Vec<u8> = loaded_words.iter().flat_map(|word| word.to_le_bytes()).collect();
                    self.shadow.show(VirtAddr(operand), content[..].try_into().unwrap());
                    self.lines.insert(operand);
                }
                TraceWord::Access { store: true, log2_bytes, addr, .. } => {
                    self.shadow.store(VirtAddr(addr), 1 << log2_bytes, loaded_words[0]);
                }
                _ => {}
            }
            at += count;
        }
    }
}

impl Source for Late {
    fn next_batch(&mut self) -> Result<Option<Arc<Batch>>, WorkloadError> {
        let Some(batch) = self.program.next_batch()? else { return Ok(None) };
        let mut batch = Arc::unwrap_or_clone(batch);
        let before = if self.batches_before == 0 { self.mapped() } else { Vec::new() };
        self.batches_before = self.batches_before.wrapping_sub(1);
        self.follow(&batch.words);
        batch.words.splice(..0, before);
        Ok(Some(Arc::new(batch)))
    }

    fn origin(&self) -> &Origin {
        &self.origin
    }
}

/// Marks every third line, so that a page has both kinds.
fn every_third(addr: VirtAddr) -> bool {
    (addr.0 / 64).is_multiple_of(3)
}

/// Runs a program on a machine with small caches, which soon evict dirty lines.
fn tried(program: Box<dyn Source>, design: &str, cores: usize) -> Result<Record, RunError> {
    let mut machine = Machine { cores, ..machine_for(design) };
    (machine.llc.size, machine.node.l2.size) = (Bytes(128 << 10), Bytes(64 << 10));
    let options = RunOptions::new(machine, catalogue::design(design).unwrap(), INSTRUCTIONS);
    run(&RunOptions { ledger: true, ..options }, program, |_| RunControl::GoOn)
}

fn mapping(workload: &str, is_mapped: IsMapped, design: &str) -> Result<Record, RunError> {
    tried(Mapping::of(kernel(workload, &[], 1), is_mapped), design, 1)
}

/// The numbers of stores of a kernel: to marked lines, and in total.
fn stores(workload: &str, is_mapped: IsMapped) -> (u64, u64) {
    let mut walker = Walker::new(kernel(workload, &[], 1));
    let (mut mapped, mut all, mut left) = (0, 0, INSTRUCTIONS);
    while let Some(step) = walker.next_step(|event| assert!(!matches!(event, Event::Lost { .. }))).unwrap() {
        let mut end = None;
        for store in step.accesses.iter().filter(|access| access.kind == AccessKind::Store) {
            // The second half of a wide store follows the first, and does not count as a store.
            if end != Some(store.addr) {
                all += 1;
                mapped += u64::from(is_mapped(store.addr));
            }
            end = Some(VirtAddr(store.addr.0 + u64::from(store.bytes)));
        }
        left -= 1;
        if left == 0 {
            break;
        }
    }
    (mapped, all)
}

#[test]
fn only_stores_to_mapped_persistent_lines_enter_the_persist_buffer() {
    for workload in ["gups", "stream", "btree"] {
        let (mapped, all) = stores(workload, every_third);
        assert!(mapped > 100 && all > 2 * mapped, "{workload}: {mapped} of {all}");
        for design in SCHEMES {
            let record = mapping(workload, every_third, design).unwrap();
            assert!(record.checks.passed, "{workload} under {design}: {:?}", record.checks);
            assert_eq!(record.persist_buffer.unwrap().stores, mapped, "{workload} under {design}");
        }
    }
}

#[test]
fn dirty_lines_outside_persistent_mappings_are_written_back_from_the_llc() {
    for design in SCHEMES {
        let record = mapping("gups", every_third, design).unwrap();
        assert!(record.checks.passed, "{design}: {:?}", record.checks);
        assert!(record.llc.writebacks > 100, "{design}: {:?}", record.llc);
    }
}

#[test]
fn a_run_with_all_lines_in_persistent_mappings_equals_one_with_persistent_memory() {
    for design in SCHEMES {
        let (mapped, all) = (mapping("btree", |_| true, design), tried(kernel("btree", &[], 1), design, 1));
        assert_eq!(mapped.unwrap().event_hash, all.unwrap().event_hash, "{design}");
    }
}

/// From the mapping on, the last-level cache drops their dirty lines, although their content passed no buffer.
#[test]
fn lines_mapped_persistent_after_a_store_lose_no_store() {
    for design in SCHEMES {
        let gups = kernel("gups", &[("footprint", "256 KB")], 1);
        let record = tried(Late::of(gups, 2), design, 1).unwrap();
        assert!(record.checks.passed, "{design}: {:?}", record.checks);
        let (stores, written) = (record.persist_buffer.unwrap().stores, record.llc.writebacks);
        assert!(stores > 100 && written > 100, "{design}: {stores} {written}");
    }
}

#[test]
fn cores_that_share_persistent_and_volatile_lines_read_every_store_right() {
    for design in SCHEMES {
        let threads = Threads::of("gups", &[("footprint", "64 KB")], 2);
        let record = tried(Mapping::of(threads, every_third), design, 2).unwrap();
        assert!(record.checks.passed, "{design}: {:?}", record.checks);
        // The buffer of single stores has no entry to give up.
        assert_eq!(record.persist_buffer.unwrap().given_up > 0, design != "plp-sp", "{design}");
    }
}

#[test]
fn partial_persistence_is_refused_without_persistent_stores_or_a_suitable_design() {
    for design in ["secpb-cobcm", "none"] {
        let refused = mapping("stream", |_| false, design).unwrap_err().to_string();
        assert!(refused.contains("'stream' did not store to a file that it maps shared"), "{refused}");
    }
    let refused = mapping("stream", every_third, "plp-coalesced").unwrap_err().to_string();
    assert!(refused.contains("plp-coalesced") && refused.contains("handles single stores"), "{refused}");
}
