//! Memory operations of a program, in program order: stores, flushes and fences of a kernel that outlives a loss of
//! power.

use crate::crash::workload::PROGRAM_LINES;
use std::collections::BTreeMap;
use std::ops::Range;
use units::{LINE_BYTES, Line, LineAddr, VirtAddr, ZERO_LINE, nearest};
use workload::WorkloadError;
use workload::kernels::durable::{Damage, Image, RecoveredOperation, Recovery};
use workload::kernels::{DurableKernel, list, open_durable};
use workload::shadow::ProcessShadow;
use workload::stream::AccessKind;
use workload::walker::{Event, Walker};

/// Default settings, so small that a program meets many losses in a second. Settings of the command replace them.
const SMALL: [(&str, &[(&str, &str)]); 2] = [
    ("log", &[("footprint", "4 KB"), ("longest", "12"), ("records", "48")]),
    ("btree", &[("preload", "1"), ("operations", "48"), ("inserts", "100"), ("persistent", "yes")]),
];

/// A program to be tried.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice {
    /// Name of the kernel.
    pub name: String,
    /// Explicit settings of the kernel; the defaults are so small that it meets many losses.
    pub settings: BTreeMap<String, String>,
}

impl Choice {
    fn all_settings(&self) -> BTreeMap<String, String> {
        let small = SMALL.iter().filter(|(name, _)| *name == self.name).flat_map(|(_, settings)| settings.iter());
        let mut all: BTreeMap<String, String> =
            small.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        all.extend(self.settings.clone());
        all
    }
}

/// One memory operation of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ScriptStep {
    /// A store, with the line and its content afterwards.
    Store(LineAddr, Line),
    /// A flush of a line.
    Flush(LineAddr),
    /// A persist fence of the program.
    Fence,
}

impl ScriptStep {
    /// Returns the line and content of a store; `None` for another step.
    pub fn stored(&self) -> Option<(LineAddr, Line)> {
        match self {
            ScriptStep::Store(line, content) => Some((*line, *content)),
            ScriptStep::Flush(_) | ScriptStep::Fence => None,
        }
    }
}

/// Steps of a program, with its recovery.
pub struct Script {
    /// Steps in program order.
    pub steps: Vec<ScriptStep>,
    /// Indices of the steps that commit an operation each.
    commits: Vec<usize>,
    /// Content of memory before the first step.
    pub before: BTreeMap<LineAddr, Line>,
    arena: Range<u64>,
    recovery: Box<dyn Recovery>,
}

impl Script {
    /// Runs a program to its end and records its steps.
    ///
    /// # Errors
    /// If no program has this name, or it needs more memory than is available here.
    pub fn of(choice: &Choice, seed: u64) -> Result<Script, String> {
        // A kernel without recovery is refused by `open_durable` with a more specific message.
        if !list().iter().any(|kernel| kernel.name == choice.name) {
            let known = SMALL.map(|(name, _)| name);
            let hint = nearest(&choice.name, known).map_or(String::new(), |name| format!(" (did you mean {name}?)"));
            let names = known.join(", ");
            return Err(format!(
                "no program '{}' recovers after a loss of power{hint}; there are {names}",
                choice.name
            ));
        }
        let said = |refused: WorkloadError| refused.to_string();
        let DurableKernel { source, arena, recovery } =
            open_durable(&choice.name, &choice.all_settings(), seed).map_err(said)?;
        let room = PROGRAM_LINES * LINE_BYTES as u64;
        if arena.end - arena.start > room {
            return Err(format!(
                "{} takes {} bytes: expected at most {room}, the size of the memory that loses power",
                choice.name,
                arena.end - arena.start
            ));
        }
        let mut script = Script { steps: Vec::new(), commits: Vec::new(), before: BTreeMap::new(), arena, recovery };
        let (mut walker, mut shadow) = (Walker::new(source), ProcessShadow::default());
        while let Some(event) = walker.next().map_err(said)? {
            script.take(event, &mut shadow);
        }
        if script.commits.is_empty() {
            return Err(format!("{} commits no operation, so a loss of power can lose none", choice.name));
        }
        Ok(script)
    }

    fn take(&mut self, event: Event<'_>, shadow: &mut ProcessShadow) {
        match event {
            Event::Line { addr, content, .. } => {
                shadow.show(addr, content);
                self.before.insert(self.line(addr.0), *content);
            }
            Event::Flush { addr, .. } => self.steps.push(ScriptStep::Flush(self.line(addr.0))),
            Event::Fence { .. } => self.steps.push(ScriptStep::Fence),
            Event::Instruction(step) => {
                for store in step.accesses.iter().filter(|access| access.kind == AccessKind::Store) {
                    shadow.store(store.addr, store.bytes, store.value.unwrap_or_default());
                    if store.addr.0 == self.recovery.commit_word() {
                        self.commits.push(self.steps.len());
                    }
                    let content = shadow.line(VirtAddr(store.addr.line_start().0)).unwrap_or(ZERO_LINE);
                    self.steps.push(ScriptStep::Store(self.line(store.addr.0), content));
                }
            }
            _ => {}
        }
    }

    fn line(&self, addr: u64) -> LineAddr {
        LineAddr((addr - self.arena.start) / LINE_BYTES as u64)
    }

    /// Total number of operations.
    pub fn operations(&self) -> usize {
        self.commits.len()
    }

    /// Number of operations that the first `steps` steps commit.
    pub fn committed_by(&self, steps: usize) -> usize {
        self.commits.partition_point(|commit| *commit < steps)
    }

    /// Returns the step that continues after this many operations: the first store behind the commit of the last.
    pub fn resumed_after(&self, operations: usize) -> usize {
        let Some(last) = operations.checked_sub(1) else { return 0 };
        let behind = self.commits[last] + 1;
        let next = self.steps[behind..].iter().position(|step| matches!(step, ScriptStep::Store(..)));
        next.map_or(self.steps.len(), |next| behind + next)
    }

    /// Returns the step behind the commit of an operation, or behind the last step.
    pub fn behind(&self, operation: usize) -> usize {
        self.commits.get(operation).map_or(self.steps.len(), |commit| commit + 1)
    }

    /// Runs the recovery of the program over a memory that `read` accesses; returns its operations and their content.
    ///
    /// # Errors
    /// If memory refuses a line that it needs, or is inconsistent.
    pub fn recover(
        &self,
        read: &mut dyn FnMut(LineAddr) -> Option<Line>,
    ) -> Result<(u64, Vec<RecoveredOperation>), Damage> {
        let mut by_address = |addr: u64| read(self.line(addr));
        self.recovery.recover(&mut Image::new(&mut by_address))
    }

    /// Returns the content that an operation was to leave.
    pub fn expected_words(&self, number: u64) -> Vec<u64> {
        self.recovery.expected_words(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(name: &str, settings: &[(&str, &str)]) -> Script {
        let settings = settings.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        Script::of(&Choice { name: name.to_owned(), settings }, 3).unwrap()
    }

    #[test]
    fn program_resumption_after_n_committed_operations_begins_with_a_store() {
        for name in ["log", "btree"] {
            let script = script(name, &[]);
            assert_eq!(script.operations(), 48, "{name}");
            assert_eq!((script.resumed_after(0), script.resumed_after(48)), (0, script.steps.len()), "{name}");
            for operations in 1..48 {
                let next = script.resumed_after(operations);
                assert!(matches!(script.steps[next], ScriptStep::Store(..)));
                assert_eq!(script.committed_by(next), operations);
                assert_eq!(script.committed_by(script.behind(operations - 1)), operations);
            }
        }
    }

    #[test]
    fn only_the_correct_log_program_flushes_and_fences_a_record_before_its_commit() {
        let before_commit = |order: &str| {
            let script = script("log", &[("order", order)]);
            let first = &script.steps[..script.behind(0)];
            let fences = first.iter().filter(|step| **step == ScriptStep::Fence).count();
            (fences, first.iter().filter(|step| matches!(step, ScriptStep::Flush(_))).count() > 0)
        };
        assert_eq!(before_commit("record-first"), (1, true));
        assert_eq!(before_commit("commit-first"), (0, false));
        assert_eq!(before_commit("unfenced"), (0, false));
    }

    #[test]
    fn a_program_that_is_too_large_or_without_durable_data_is_refused() {
        let refusal = |name: &str, settings: &[(&str, &str)]| {
            let settings = settings.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
            Script::of(&Choice { name: name.to_owned(), settings }, 3).err().unwrap()
        };
        let large = "log takes 1048640 bytes: expected at most 524288, the size of the memory that loses power";
        assert_eq!(refusal("log", &[("footprint", "1 MB")]), large);
        let idle = "btree commits no operation, so a loss of power can lose none";
        assert_eq!(refusal("btree", &[("inserts", "0")]), idle);
        assert!(refusal("gups", &[]).starts_with("kernel gups keeps no data over a loss of power: expected log"));
        let unknown = "no program 'lock' recovers after a loss of power (did you mean log?); there are log, btree";
        assert_eq!(refusal("lock", &[]), unknown);
    }
}
