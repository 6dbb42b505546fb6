//! Named designs and machines: the catalogue.
//!
//! Both are data. Every file in `designs/` and `machines/` at the root of the repository is built in; a user may also give the path of
//! another file. The types of this crate define the content of the files. Classes of designs (`classes.toml`) claim the ends of attacks, a
//! design's file claims the ends that differ, and a campaign compares both with its results.

mod changes;
mod claims;
mod class;
mod design_file;
mod end;
mod error;
mod machine_file;
mod name;
mod named;
mod regular_file;
mod settings;
mod times;
mod verdict;

pub use changes::Change;
pub use claims::{Attack, Claims, Loss};
pub use class::{DesignClass, class, classes};
pub use design_file::Design;
use design_file::InFull;
pub use end::End;
pub use error::{ConfigError, did_you_mean};
pub use machine_file::{AesBandwidth, AtL2, ClockInterrupt, LlcConfig, Machine, Memory, OffBelow};
use regular_file::read_edited;
pub use regular_file::{edited_text, read_regular};
pub use settings::{Setting, SettingOrigin};
use std::path::Path;
use toml::Table;
use units::nearest;
pub use verdict::Verdict;

mod embedded {
    include!(concat!(env!("OUT_DIR"), "/embedded.rs"));
}

/// All built-in designs, from the weakest class to the strongest, and within a class by name.
///
/// # Panics
/// If a built-in file is wrong, which a test rules out.
pub fn designs() -> Vec<Design> {
    let parse = |(path, text): &(&str, &str)| Design::parse(path, text).unwrap_or_else(|error| panic!("{error}"));
    let mut designs: Vec<Design> = embedded::DESIGNS.iter().map(parse).collect();
    designs.sort_by(|a, b| (&a.design_class, &a.name).cmp(&(&b.design_class, &b.name)));
    designs
}

/// All built-in machines, in the order of their names.
///
/// # Panics
/// If a built-in file is wrong, which a test rules out.
pub fn machines() -> Vec<Machine> {
    embedded::MACHINES
        .iter()
        .map(|(path, text)| Machine::parse(path, text).unwrap_or_else(|error| panic!("{error}")))
        .collect()
}

/// The design with this name, or in the file with this path (which must end in `.toml`).
///
/// # Errors
/// Unknown names, with the nearest right one; unreadable or wrong files.
pub fn design(name_or_path: &str) -> Result<Design, ConfigError> {
    design_with(name_or_path, &[])
}

/// Like [`design`], with some keys changed.
///
/// # Errors
/// The errors of [`design`], and [`ConfigError::Changed`] for an unknown key or a broken rule.
pub fn design_with(name_or_path: &str, changes: &[Change]) -> Result<Design, ConfigError> {
    let table = |design: &Design| Table::try_from(InFull::of(design));
    refuse_half_a_permutation(name_or_path, changes)?;
    let design = find("design", embedded::DESIGNS, name_or_path, changes, Design::parse, table)?;
    // Changes are for experiments, so a changed design may belong to another class than the class in its file.
    if changes.is_empty() {
        class::check(&design.design_class, &design.parts)
            .map_err(|rule| ConfigError::Rule { file: name_or_path.to_owned(), rule })?;
    }
    Ok(Design { file: is_path(name_or_path).then(|| name_or_path.to_owned()), ..design })
}

/// Refuses a change of a single key of `permutation` for a design without this table.
fn refuse_half_a_permutation(name_or_path: &str, changes: &[Change]) -> Result<(), ConfigError> {
    const WHOLE: &str = "parts.permutation";
    let key = changes.iter().map(|(key, _)| key).find(|key| key.starts_with(&format!("{WHOLE}.")));
    let begins = changes.iter().any(|(key, _)| key == WHOLE);
    let Some(key) = key.filter(|_| !begins) else { return Ok(()) };
    if design(name_or_path)?.parts.permutation.is_some() {
        return Ok(());
    }
    let rule = format!(
        "'{name_or_path}' does not move lines, so it has no '{key}': name a design that moves lines, as in \
         design.cryptopage.{key}"
    );
    Err(ConfigError::Rule { file: name_or_path.to_owned(), rule })
}

/// The machine with this name, or in the file with this path (which must end in `.toml`).
///
/// # Errors
/// Unknown names, with the nearest right one; unreadable or wrong files.
pub fn machine(name_or_path: &str) -> Result<Machine, ConfigError> {
    machine_with(name_or_path, &[])
}

/// Like [`machine`], with some keys changed.
///
/// # Errors
/// The errors of [`machine`], and [`ConfigError::Changed`] for an unknown key or a broken rule.
pub fn machine_with(name_or_path: &str, changes: &[Change]) -> Result<Machine, ConfigError> {
    find("machine", embedded::MACHINES, name_or_path, changes, Machine::parse, |machine| Table::try_from(machine))
}

/// All values of a machine, named or in a file, with some keys changed.
///
/// # Errors
/// The errors of [`machine_with`].
pub fn machine_settings(name_or_path: &str, changes: &[Change]) -> Result<Vec<Setting>, ConfigError> {
    let (file, text) = text_of("machine", embedded::MACHINES, name_or_path)?;
    settings::of(&machine_with(name_or_path, changes)?, (&file, &text), changes)
}

/// All values of a design, named or in a file, with some keys changed.
///
/// # Errors
/// The errors of [`design_with`].
pub fn design_settings(name_or_path: &str, changes: &[Change]) -> Result<Vec<Setting>, ConfigError> {
    let (file, text) = text_of("design", embedded::DESIGNS, name_or_path)?;
    settings::of(&InFull::of(&design_with(name_or_path, changes)?), (&file, &text), changes)
}

/// Finds a design or a machine by name or path, and changes some keys; `table` returns all its keys that can be
/// changed.
fn find<T>(
    kind: &'static str,
    built_in: &[(&str, &str)],
    name_or_path: &str,
    changes: &[Change],
    parse: impl Fn(&str, &str) -> Result<T, ConfigError>,
    table: impl Fn(&T) -> Result<Table, toml::ser::Error>,
) -> Result<T, ConfigError> {
    let (file, text) = text_of(kind, built_in, name_or_path)?;
    let original = parse(&file, &text)?;
    if changes.is_empty() {
        return Ok(original);
    }
    let text = changes::changed(&file, table(&original), changes)?;
    parse(&file, &text).map_err(|error| changes::blame(changes, error))
}

/// The path and the text of a built-in file, or of a user's file.
///
/// # Errors
/// Names that are not built in, with the nearest right one; unreadable files.
pub fn text_of(
    kind: &'static str,
    built_in: &[(&str, &str)],
    name_or_path: &str,
) -> Result<(String, String), ConfigError> {
    if is_path(name_or_path) {
        let unreadable = |source| ConfigError::Unreadable { file: name_or_path.to_owned(), source };
        return Ok((name_or_path.to_owned(), read_edited(Path::new(name_or_path)).map_err(unreadable)?));
    }
    let found = built_in.iter().find(|(path, _)| name_of(path) == name_or_path);
    if let Some((path, text)) = found {
        return Ok(((*path).to_owned(), (*text).to_owned()));
    }
    if name_or_path.contains('/') || Path::new(name_or_path).exists() {
        return Err(ConfigError::NotToml { kind, path: name_or_path.to_owned() });
    }
    let known: Vec<String> = built_in.iter().map(|(path, _)| name_of(path).to_owned()).collect();
    let nearest = nearest(name_or_path, known.iter().map(String::as_str)).map(str::to_owned);
    Err(ConfigError::Unknown { kind, name: name_or_path.to_owned(), nearest, known })
}

/// Returns true for the path of a user's file, false for a name.
fn is_path(name_or_path: &str) -> bool {
    name_or_path.ends_with(".toml")
}

/// Name of a built-in file, which is the name of its design or machine.
fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path).trim_end_matches(".toml")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_design_and_machine_file_parses_and_has_the_name_of_its_file() {
        for (path, text) in embedded::DESIGNS {
            assert_eq!(*path, format!("designs/{}.toml", Design::parse(path, text).unwrap().name));
        }
        for (path, text) in embedded::MACHINES {
            assert_eq!(*path, format!("machines/{}.toml", Machine::parse(path, text).unwrap().name));
        }
    }

    #[test]
    fn every_built_in_design_has_a_claim_about_every_attack_and_loss() {
        for design in designs() {
            assert_eq!(design.unclaimed(), Vec::<&str>::new(), "{}", design.name);
        }
    }

    /// The text of a table of claims in the file of a built-in design.
    fn said<'a>(text: &'a str, table: &str) -> &'a str {
        let rest = text.split_once(&format!("[{table}]")).map_or("", |(_, rest)| rest);
        rest.split_once("\n[").map_or(rest, |(rest, _)| rest)
    }

    #[test]
    fn a_design_class_that_does_not_match_the_parts_is_refused_with_the_matching_one() {
        let classes: Vec<&str> = classes().collect();
        for design in designs() {
            let fits = |class: &&str| class::check(class, &design.parts).is_ok();
            let fitting: Vec<&str> = classes.iter().copied().filter(fits).collect();
            assert_eq!(fitting, [design.design_class.as_str()], "{}", design.name);
        }
        let refused = class::check("C5", &design("bbb-gap").unwrap().parts).unwrap_err();
        let expected = "design_class = \"C5\": these parts make a design of class C4, since a tree keeps lines fresh, and memory \
             does not survive a loss of power; set design_class = \"C4\"";
        assert!(refused.starts_with(expected), "{refused}");
    }

    #[test]
    fn a_design_file_lists_only_claims_that_differ_from_its_class() {
        for (path, text) in embedded::DESIGNS {
            let design = Design::parse(path, text).unwrap();
            let class = class(&design.design_class).unwrap();
            let claims: Claims<Attack> = toml::from_str(said(text, "claims")).unwrap();
            let crash: Claims<Loss> = toml::from_str(said(text, "crash")).unwrap();
            assert_eq!(claims.repeated(&class.claims).collect::<Vec<_>>(), [], "{path}");
            assert_eq!(crash.repeated(&class.crash).collect::<Vec<_>>(), [], "{path}");
        }
    }

    #[test]
    fn a_design_file_without_claims_has_all_claims_of_its_class() {
        let text = text_of("design", embedded::DESIGNS, "tdx-like").unwrap().1;
        let (parts_only, _) = text.split_once("[claims]").unwrap();
        let design = Design::parse("mine.toml", parts_only).unwrap();
        let class = class("C3").unwrap();
        assert_eq!((&design.claims, &design.crash), (&class.claims, &class.crash));
        assert_ne!(design.claims, super::design("tdx-like").unwrap().claims);
    }

    #[test]
    fn a_design_serialised_with_all_claims_parses_to_the_same_design() {
        for design in designs() {
            let spelled_out = toml::to_string(&design).unwrap();
            assert!(Attack::ALL.iter().all(|row| spelled_out.contains(&format!("\n{row} = "))), "{spelled_out}");
            assert_eq!(Design::parse("old.toml", &spelled_out).unwrap(), design);
        }
    }

    #[test]
    fn an_unknown_attack_verdict_or_class_is_refused_with_line_key_and_nearest_valid_one() {
        let (_, text) = embedded::DESIGNS.iter().find(|(_, text)| text.contains("name = \"sc64-bmt\"")).unwrap();
        let line = text.lines().count() + 2;
        let classless = text.replace("design_class = \"C4\"", "design_class = \"c4\"");
        let with = |claim: &str| format!("{text}[crash]\n{claim}\n");
        for (text, expected) in [
            (
                classless,
                "mine.toml:3: design_class: unknown class `c4`, expected one of `C0`, `C1`, `C1'`, `C2`, `C3`"
                    .to_owned(),
            ),
            (
                with("power-lost = \"harmless\""),
                format!("mine.toml:{line}: unknown variant `power-lost`, expected one of `power-loss`"),
            ),
            (
                with("power-loss = \"harmles\""),
                format!(
                    "mine.toml:{line}: crash.power-loss: unknown variant `harmles`, expected one of `not-applicable`"
                ),
            ),
        ] {
            let error = Design::parse("mine.toml", &text).unwrap_err().to_string();
            assert!(error.starts_with(&expected) && error.contains("(did you mean '"), "{error}");
        }
    }

    #[test]
    fn a_design_file_has_fewer_than_20_lines_without_its_claims() {
        for (path, text) in embedded::DESIGNS {
            let claims = said(text, "claims").lines().count() + said(text, "crash").lines().count();
            assert!(text.lines().count() < 20 + claims, "{path}");
        }
    }

    #[test]
    fn commands_name_a_built_in_design_by_its_name_and_a_user_design_by_its_file() {
        assert_eq!(design("xts").unwrap().called(), "xts");
        let folder = tempfile();
        for (name, called) in [("bold.toml", "bold.toml"), ("it's mine.toml", "'it'\\''s mine.toml'")] {
            let path = folder.join(name);
            std::fs::write(&path, embedded::DESIGNS[0].1).unwrap();
            let found = design(path.to_str().unwrap()).unwrap();
            let named = Design { file: Some(name.to_owned()), ..found.clone() };
            assert_eq!((found.file.as_deref(), named.called().as_str()), (path.to_str(), called));
        }
    }

    /// A temporary folder for one test.
    fn tempfile() -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("casemate-catalogue-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn an_unknown_design_names_the_nearest_right_one() {
        let error = design("sc64-btm").unwrap_err().to_string();
        assert!(error.contains("did you mean 'sc64-bmt'?); `casemate list designs` shows all "), "{error}");
        let error = machine("modrn").unwrap_err().to_string();
        assert!(error.contains("did you mean 'modern'?); there are: champsim-4w192, "), "{error}");
        assert!(design("no-such-file.toml").unwrap_err().to_string().contains("no-such-file.toml"));
    }

    #[test]
    fn a_path_to_another_kind_of_file_is_refused_as_a_path() {
        let picture = tempfile().join("vol.png");
        std::fs::write(&picture, "no design").unwrap();
        for path in [picture.to_str().unwrap(), "./folder", "folder/"] {
            let refused = design(path).unwrap_err().to_string();
            assert!(
                refused.starts_with(&format!("'{path}' is not a TOML file: expected the name of a design")),
                "{refused}"
            );
        }
    }

    #[test]
    fn a_design_value_of_the_wrong_type_is_refused_in_terms_of_the_file_format() {
        let text = text_of("design", embedded::DESIGNS, "secpb-cm").unwrap().1;
        let with = |old: &str, new: &str| Design::parse("mine.toml", &text.replace(old, new)).unwrap_err().to_string();
        let line = text.lines().find(|line| line.starts_with("persistence = ")).unwrap();
        let number = with(line, "persistence = 5");
        assert!(number.ends_with("parts.persistence: found 5, expected a table of keys, as in { key = 1 }"));
        let battery = with("entries = 32", "battery = 1");
        let expected = "parts.persistence.battery: `1` is not in quotes, expected `tuples` or `data`";
        assert!(battery.ends_with(expected), "{battery}");
        let cipher = with("cipher = \"aes128-counter\"", "cipher = true");
        assert!(
            cipher.contains("cipher: `true` is not in quotes, expected one of `none`, `aes128-counter`"),
            "{cipher}"
        );
        for wrong in ["-1", "0", "65537", "5000000000"] {
            let refused = with("entries = 32", &format!("entries = {wrong}"));
            assert!(
                refused.ends_with(&format!("parts.persistence.entries: {wrong}: expected 1 to 65536")),
                "{refused}"
            );
        }
    }

    #[test]
    fn an_unknown_key_names_its_file_its_line_and_the_nearest_right_one() {
        let text = embedded::DESIGNS[0].1.replace("cipher =", "cypher =");
        let error = Design::parse("mine.toml", &text).unwrap_err().to_string();
        assert!(
            error.starts_with("mine.toml:") && error.contains("cypher") && error.contains("did you mean 'cipher'?"),
            "{error}"
        );
    }
}
