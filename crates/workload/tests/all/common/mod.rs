//! Common code of the tests.

pub mod compiled;

use casemate_workload::decode::BlockDecoder;
use casemate_workload::live::recorder_from_environment;
use casemate_workload::stream::{Batch, Block, BlockId};
use casemate_workload::{Finish, Medium, Origin, Persistent, Source, Values, WorkloadError};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::OnceLock;
use units::VirtAddr;

/// Source that returns the batches of a list.
pub struct Listed(VecDeque<Batch>, Origin);

impl Listed {
    pub fn new(batches: Vec<Batch>) -> Listed {
        Listed(batches.into(), origin())
    }
}

impl Source for Listed {
    fn next_batch(&mut self) -> Result<Option<Arc<Batch>>, WorkloadError> {
        Ok(self.0.pop_front().map(Arc::new))
    }

    fn origin(&self) -> &Origin {
        &self.1
    }
}

pub fn origin() -> Origin {
    Origin {
        program: vec!["a test".into()],
        skip: 0,
        limit: None,
        values: Values::Seeded(1),
        load_values: false,
        medium: Medium::BuiltIn,
        conditions: Vec::new(),
        persistent: Persistent::All,
        requests: None,
        restarts: 0,
        finish: Finish::Exited(0),
        suspects: Vec::new(),
    }
}

/// Returns a block of these instructions, each given by its bytes.
pub fn block(id: u32, pc: u64, instructions: &[&[u8]]) -> Arc<Block> {
    let lengths: Vec<u8> = instructions.iter().map(|bytes| bytes.len() as u8).collect();
    Arc::new(BlockDecoder::default().block(BlockId(id), VirtAddr(pc), &lengths, &instructions.concat()))
}

/// Returns the path of the recorder, and builds it if necessary. Prints a message and returns `None` if QEMU is not
/// installed.
pub fn recorder() -> Option<PathBuf> {
    static RECORDER: OnceLock<PathBuf> = OnceLock::new();
    if Command::new("qemu-x86_64").arg("--version").output().is_err() {
        eprintln!("SKIPPED: qemu-x86_64 is not installed (package qemu-user)");
        return None;
    }
    Some(RECORDER.get_or_init(|| recorder_from_environment().unwrap_or_else(build_recorder)).clone())
}

fn build_recorder() -> PathBuf {
    // This test is in <target>/<profile>/deps.
    let profile_dir = std::env::current_exe().unwrap().ancestors().nth(2).unwrap().to_owned();
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["build", "--quiet", "--package", "casemate-recorder", "--target-dir"])
        .arg(profile_dir.parent().unwrap());
    if profile_dir.ends_with("release") {
        cargo.arg("--release");
    }
    assert!(cargo.status().unwrap().success(), "the recorder does not build");
    profile_dir.join("libcasemate_recorder.so")
}
