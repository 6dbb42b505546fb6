//! Embeds every file of `designs/` and `machines/`, so that a new one needs no line of code, and the classes of designs.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?).join("../..");
    let mut code = String::new();
    for (folder, name) in [("designs", "DESIGNS"), ("machines", "MACHINES")] {
        writeln!(
            code,
            "/// Every file of `{folder}/`: its path and its text.\npub static {name}: &[(&str, &str)] = &["
        )
        .map_err(io::Error::other)?;
        for path in toml_files(&root.join(folder))? {
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            writeln!(code, "    (\"{folder}/{file}\", include_str!({:?})),", path.canonicalize()?)
                .map_err(io::Error::other)?;
        }
        code += "];\n";
        println!("cargo::rerun-if-changed={}", root.join(folder).display());
    }
    let classes = root.join("classes.toml").canonicalize()?;
    writeln!(code, "/// What each class of designs claims.\npub static CLASSES: &str = include_str!({classes:?});")
        .map_err(io::Error::other)?;
    println!("cargo::rerun-if-changed={}", classes.display());
    fs::write(PathBuf::from(env::var("OUT_DIR").map_err(io::Error::other)?).join("embedded.rs"), code)
}

fn toml_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    Ok(files)
}
