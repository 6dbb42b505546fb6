//! Computes the digest of all source files that decide a result, so that results of two builds can be told apart.

use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Crates whose code decides results, and the data files that are part of the build. The remaining crates measure the
/// computer or record programs: a recording is an input of a run and has its own digest.
const DECIDING: [&str; 18] = [
    "crates/units/src",
    "crates/wire/src",
    "crates/crypto/src",
    "crates/context/src",
    "crates/isa/src",
    "crates/sim/src",
    "crates/workload/src",
    "crates/machine/src",
    "crates/protection/src",
    "crates/catalogue/src",
    "crates/chip/src",
    "crates/runner/src",
    "crates/campaign/src",
    "crates/py/src",
    "Cargo.lock",
    "classes.toml",
    "designs",
    "machines",
];

fn main() -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut digest = Sha256::new();
    for part in DECIDING {
        println!("cargo::rerun-if-changed={}", root.join(part).display());
        for file in files(&root.join(part))? {
            let name = file.strip_prefix(&root).unwrap_or(&file).display().to_string();
            let content = fs::read(&file)?;
            digest.update(format!("{name} {}\n", content.len()));
            digest.update(content);
        }
    }
    let hex: String = digest.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    println!("cargo::rustc-env=CASEMATE_BUILD={hex}");
    Ok(())
}

/// All files at and below a path, in the order of their names.
fn files(path: &Path) -> io::Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let mut entries: Vec<PathBuf> = fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    entries.sort();
    entries.iter().map(|entry| files(entry)).collect::<io::Result<Vec<_>>>().map(|found| found.concat())
}
