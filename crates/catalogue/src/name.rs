//! Rules for the names of designs and machines.
//!
//! A name becomes a part of file names (records, buses, excerpts), a word of a command and a column of a table. So it may only contain
//! characters without a special meaning in any of them: `../evil` would leave a folder, and `[red]` colours a table.

/// The longest name: together with the names of a workload and a machine, it still fits in a file name.
const LONGEST: usize = 60;

/// Checks the name of a design or a machine.
///
/// # Errors
/// A sentence with the name and the rule.
pub(crate) fn check(name: &str) -> Result<(), String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if begins && name.len() <= LONGEST && name.chars().all(is_plain) {
        return Ok(());
    }
    let right: String = name.chars().filter(|c| is_plain(*c)).skip_while(|c| !c.is_ascii_alphanumeric()).collect();
    let right = if right.is_empty() { "mine" } else { &right[..right.len().min(LONGEST)] };
    let found = name.escape_debug();
    Err(format!(
        "name = \"{found}\": expected 1 to {LONGEST} letters of A to Z and a to z, digits, '-', '_' and '.', a letter or a digit \
         first, as in \"{right}\""
    ))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::{ConfigError, Design, Machine, design_with, embedded};

    #[test]
    fn invalid_design_and_machine_names_are_refused_with_a_valid_one() {
        for (name, right) in [
            ("../../../evil", "evil"),
            ("", "mine"),
            ("a/b", "ab"),
            ("[red]x", "redx"),
            (".hidden", "hidden"),
            ("-x", "x"),
            ("..", "mine"),
            ("two words", "twowords"),
            ("Gr\u{fc}n", "Grn"),
        ] {
            let design = embedded::DESIGNS[0].1.replacen(&first_line(embedded::DESIGNS[0].1), &said(name), 1);
            let machine = embedded::MACHINES[0].1.replacen(&first_line(embedded::MACHINES[0].1), &said(name), 1);
            let refused: [ConfigError; 2] =
                [Design::parse("mine.toml", &design).unwrap_err(), Machine::parse("mine.toml", &machine).unwrap_err()];
            for error in refused.map(|error| error.to_string()) {
                assert!(
                    error.starts_with(&format!("mine.toml: name = \"{name}\": expected 1 to 60 letters")),
                    "{error}"
                );
                assert!(error.ends_with(&format!("as in \"{right}\"")), "{error}");
            }
        }
    }

    #[test]
    fn an_override_with_an_invalid_design_name_is_refused() {
        let change = [("name".to_owned(), "../evil".to_owned())];
        let error = design_with("xts", &change).unwrap_err().to_string();
        assert!(error.contains("with name = ../evil: name = \"../evil\": expected"), "{error}");
    }

    #[test]
    fn a_name_has_at_most_60_letters() {
        assert_eq!(check(&"n".repeat(60)), Ok(()));
        assert!(check(&"n".repeat(61)).is_err());
        assert_eq!(check("7-zip_v1.2"), Ok(()));
    }

    fn first_line(text: &str) -> String {
        text.lines().find(|line| line.starts_with("name = ")).unwrap().to_owned()
    }

    fn said(name: &str) -> String {
        format!("name = '{name}'")
    }
}
