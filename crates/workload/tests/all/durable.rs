//! Tests recoveries after a loss of power: a program finds its complete operations, and detects damage.

use casemate_workload::kernels::durable::{Damage, Image, RecoveredOperation, Recovery};
use casemate_workload::kernels::{DurableKernel, open_durable};
use casemate_workload::shadow::ProcessShadow;
use casemate_workload::stream::AccessKind;
use casemate_workload::walker::{Event, Walker};
use std::collections::BTreeMap;
use std::ops::Range;
use units::random::Random;
use units::{LINE_BYTES, VirtAddr};

const PROGRAMS: [(&str, &[(&str, &str)]); 2] = [
    ("log", &[("footprint", "4 KB"), ("records", "200"), ("longest", "20")]),
    ("btree", &[("preload", "1"), ("operations", "300"), ("inserts", "100"), ("persistent", "yes")]),
];

fn given(settings: &[(&str, &str)]) -> BTreeMap<String, String> {
    settings.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

/// A program that has been started.
struct Begun {
    arena: Range<u64>,
    recovery: Box<dyn Recovery>,
}

/// Runs a program, and calls `at_commit` with the content of its memory after each commit.
fn memories(name: &str, settings: &[(&str, &str)], mut at_commit: impl FnMut(&Begun, u64, &mut ProcessShadow)) {
    let DurableKernel { source, arena, recovery } = open_durable(name, &given(settings), 9).unwrap();
    let program = Begun { arena, recovery };
    let (mut walker, mut shadow, mut commits) = (Walker::new(source), ProcessShadow::default(), 0);
    while let Some(event) = walker.next().unwrap() {
        match event {
            Event::Line { addr, content, .. } => shadow.show(addr, content),
            Event::Instruction(step) => {
                for access in step.accesses.iter().filter(|access| access.kind == AccessKind::Store) {
                    shadow.store(access.addr, access.bytes, access.value.unwrap());
                    if access.addr.0 == program.recovery.commit_word() {
                        commits += 1;
                        at_commit(&program, commits, &mut shadow);
                    }
                }
            }
            _ => {}
        }
    }
    assert!(commits >= 200);
}

fn recovered(
    program: &Begun,
    shadow: &mut ProcessShadow,
    damaged: Option<u64>,
) -> Result<(u64, Vec<RecoveredOperation>), Damage> {
    let mut read = |addr: u64| {
        let mut line = shadow.line(VirtAddr(addr)).unwrap_or([0; LINE_BYTES]);
        if let Some(bit) = damaged.filter(|bit| bit / 8 / 64 * 64 + program.arena.start == addr) {
            line[bit as usize / 8 % 64] ^= 1 << (bit % 8);
        }
        Some(line)
    };
    program.recovery.recover(&mut Image::new(&mut read))
}

#[test]
fn recovery_after_each_commit_finds_exactly_the_committed_operations() {
    for (name, settings) in PROGRAMS {
        memories(name, settings, |program, commits, shadow| {
            let (operations, held) = recovered(program, shadow, None).unwrap();
            assert_eq!(operations, commits, "{name}");
            assert!(held.last().is_some_and(|held| held.number + 1 >= commits));
            assert!(held.iter().all(|held| held.words == program.recovery.expected_words(held.number)), "{name}");
        });
    }
}

#[test]
fn log_recovery_detects_every_flipped_bit_by_checksum_and_b_tree_recovery_most() {
    let mut random = Random::new(5);
    for (name, settings) in PROGRAMS {
        let mut noticed = 0;
        memories(name, settings, |program, commits, shadow| {
            // The line of the commit word is excluded: the protection of memory must protect it.
            let bit = 512 + random.below((program.arena.end - program.arena.start) * 8 - 512);
            match recovered(program, shadow, Some(bit)) {
                Ok((operations, held)) => {
                    let is_wrong =
                        |held: &RecoveredOperation| held.words != program.recovery.expected_words(held.number);
                    let differs = operations != commits || held.iter().any(is_wrong);
                    assert!(name == "btree" || !differs, "the log has checksums: bit {bit}");
                    noticed += u64::from(differs);
                }
                Err(Damage::Inconsistent(_)) => noticed += 1,
                Err(refused) => panic!("nothing refuses here: {refused}"),
            }
        });
        assert!(noticed > 10, "{name}: {noticed}");
    }
}

#[test]
fn program_recovery_reports_a_line_that_memory_refuses() {
    let program = open_durable("log", &given(&[]), 1).unwrap();
    let found = program.recovery.recover(&mut Image::new(&mut |_| None));
    assert_eq!(found, Err(Damage::Refused(program.arena.start)));
}

#[test]
fn a_kernel_without_a_recovery_is_refused_with_those_that_have_one() {
    let refusal = |name: &str| open_durable(name, &given(&[]), 1).err().unwrap().to_string();
    let expected = "keeps no data over a loss of power: expected log, or btree with persistent=yes";
    assert_eq!(refusal("gups"), format!("kernel gups {expected}"));
    assert_eq!(refusal("btree"), format!("kernel btree {expected}"));
    assert!(open_durable("btree", &given(&[("persistent", "yes")]), 1).is_ok());
}
