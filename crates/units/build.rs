//! Passes the name of the build to all crates: how fast runs are, and whether measurements of this computer apply to
//! the released program, depends on it.

use std::path::{Path, PathBuf};
use std::{env, io};

fn main() -> io::Result<()> {
    // `target/PROFILE/build/PACKAGE/out`; the variable `PROFILE` contains only the name of the inherited profile.
    let out = PathBuf::from(env::var("OUT_DIR").map_err(io::Error::other)?);
    let profile = out.ancestors().nth(3).and_then(Path::file_name).unwrap_or_default();
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let by_profile = if flags.contains("profile-use") { "-by-profile" } else { "" };
    println!("cargo::rustc-env=BUILT_AS={}{by_profile}", profile.to_string_lossy());
    println!("cargo::rerun-if-changed=build.rs");
    Ok(())
}
