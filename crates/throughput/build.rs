//! Passes the profile of the build to the crate: measurements of a build for tests do not apply to the released
//! program.

use std::path::{Path, PathBuf};
use std::{env, io};

fn main() -> io::Result<()> {
    // `target/PROFILE/build/PACKAGE/out`; the variable `PROFILE` contains only the name of the inherited profile.
    let out = PathBuf::from(env::var("OUT_DIR").map_err(io::Error::other)?);
    let profile = out.ancestors().nth(3).and_then(Path::file_name).unwrap_or_default();
    println!("cargo::rustc-env=BUILT_AS={}", profile.to_string_lossy());
    println!("cargo::rerun-if-changed=build.rs");
    Ok(())
}
