//! Says with which profile this is built: what a build for tests measures is not what the released program does.

use std::path::{Path, PathBuf};
use std::{env, io};

fn main() -> io::Result<()> {
    // `target/PROFILE/build/PACKAGE/out`; the variable `PROFILE` names only what a profile inherits from.
    let out = PathBuf::from(env::var("OUT_DIR").map_err(io::Error::other)?);
    let profile = out.ancestors().nth(3).and_then(Path::file_name).unwrap_or_default();
    println!("cargo::rustc-env=BUILT_AS={}", profile.to_string_lossy());
    println!("cargo::rerun-if-changed=build.rs");
    Ok(())
}
