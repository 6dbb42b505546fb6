//! Errors of a design or a machine file, in words for the user who wrote it.

use serde::de::DeserializeOwned;
use std::io;
use std::ops::Range;
use thiserror::Error;
use toml::de::DeTable;
use units::nearest;

/// A reason why a design or a machine cannot be used.
#[derive(Error, Debug)]
pub enum ConfigError {
    /// The name is not built in.
    #[error("unknown {kind} '{name}'{}; {}", did_you_mean(.nearest), choices(kind, .known))]
    Unknown {
        /// Kind of the name: design or machine.
        kind: &'static str,
        /// The name that was given.
        name: String,
        /// The most similar name, if any is similar.
        nearest: Option<String>,
        /// All names of this kind.
        known: Vec<String>,
    },
    /// The name is a path, but not to a TOML file.
    #[error(
        "'{path}' is not a TOML file: expected the name of a {kind} that is built in, or a file that ends in '.toml'"
    )]
    NotToml {
        /// Kind of the file: design or machine.
        kind: &'static str,
        /// The path that was given.
        path: String,
    },
    /// The file cannot be read.
    #[error("{file}: {source}")]
    Unreadable {
        /// Path of the file.
        file: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The text of the file is wrong.
    #[error("{file}:{line}: {message}{}", did_you_mean(.nearest))]
    Syntax {
        /// Path of the file.
        file: String,
        /// The line, counted from one.
        line: usize,
        /// The wrong text, and the expected one.
        message: String,
        /// The most similar right name, if any is similar.
        nearest: Option<String>,
    },
    /// A key cannot be changed, or not to this value.
    #[error("{file} with {changes}: {message}{}", did_you_mean(.nearest))]
    Changed {
        /// Path of the changed file.
        file: String,
        /// The changed keys with their values.
        changes: String,
        /// The error, in words.
        message: String,
        /// The most similar right name, if any is similar.
        nearest: Option<String>,
    },
    /// The values contradict each other.
    #[error("{file}: {rule}")]
    Rule {
        /// Path of the file.
        file: String,
        /// The key and the broken rule.
        rule: String,
    },
}

impl ConfigError {
    /// The error for text that is not a valid `T`, with its line.
    pub fn syntax<T: DeserializeOwned>(file: &str, text: &str, error: &toml::de::Error) -> ConfigError {
        let before = &text[..error.span().map_or(0, |span| span.start.min(text.len()))];
        let line = before.matches('\n').count() + 1;
        let names = names_wanted::<T>(text, error);
        let message = names.as_deref().unwrap_or(error.message());
        // The first quoted word is the wrong one, the remaining words are valid ones.
        let mut quoted = message.split('`').skip(1).step_by(2);
        let nearest = quoted.next().and_then(|found| nearest(found, quoted)).map(str::to_owned);
        let message = shortened(&in_words(message));
        let key = match DeTable::parse(text) {
            Ok(document) => error.span().and_then(|span| key_of(text, document.get_ref(), &span)),
            // An error after an equals sign belongs to the key before it.
            Err(_) => {
                before.rsplit('\n').next().and_then(|line| line.split_once('=')).map(|(key, _)| key.trim().to_owned())
            }
        };
        let message = key.map_or(message.clone(), |key| format!("{key}: {message}"));
        ConfigError::Syntax { file: file.to_owned(), line, message, nearest }
    }
}

/// The valid names for a key with a value that is not text. The TOML library lists them only in its error for a wrong
/// name, so the function tries a wrong name.
fn names_wanted<T: DeserializeOwned>(text: &str, error: &toml::de::Error) -> Option<String> {
    let value = error.span().filter(|_| error.message() == "wanted string or table")?;
    let named = format!("{}\"?\"{}", &text[..value.start], &text[value.end..]);
    let refused = toml::from_str::<T>(&named).err()?;
    let (_, names) = refused.message().rsplit_once("expected ")?;
    Some(format!("`{}` is not in quotes, expected {names}", &text[value]))
}

/// The path of the key with a value that contains this part of the text; `None` if the part is a key.
fn key_of(text: &str, table: &DeTable<'_>, wrong: &Range<usize>) -> Option<String> {
    table.iter().find_map(|(key, value)| {
        let (key, span) = (key.get_ref(), value.span());
        let inside = value.get_ref().as_table().and_then(|table| key_of(text, table, wrong));
        // The span of a table with a heading is that of the heading, and a part within it is a key.
        let is_heading = value.get_ref().is_table() && text[span.clone()].starts_with('[');
        let is_here = span == *wrong || !is_heading && span.start <= wrong.start && wrong.end <= span.end;
        inside.map(|inside| format!("{key}.{inside}")).or_else(|| is_here.then(|| key.to_string()))
    })
}

/// The message of the TOML library, with types of Rust replaced by words.
fn in_words(message: &str) -> String {
    const NUMBERS: [(&str, &str); 8] = [
        ("a sequence", "a list, as in [1, 2] or [\"one\", \"two\"]"),
        ("u8", "a whole number from 0 to 255"),
        ("u16", "a whole number from 0 to 65535"),
        ("u32", "a whole number from 0 to 4294967295"),
        ("u64", "a whole number, 0 or more"),
        ("usize", "a whole number, 0 or more"),
        ("i64", "a whole number"),
        ("f64", "a number"),
    ];
    const WRONG: [&str; 2] = ["invalid type: ", "invalid value: "];
    let Some((found, expected)) = message.rsplit_once("expected ") else { return message.to_owned() };
    let found = WRONG
        .iter()
        .find_map(|wrong| found.strip_prefix(wrong))
        .map_or(found.to_owned(), |value| format!("found {}", plain(value)));
    let words = match NUMBERS.into_iter().find(|(name, _)| *name == expected) {
        Some((_, words)) => words,
        None if expected.starts_with("struct ") => "a table of keys, as in { key = 1 }",
        None => expected,
    };
    format!("{found}expected {words}")
}

/// A value that has the wrong type, without the name of its type.
fn plain(value: &str) -> String {
    const TYPES: [&str; 4] = ["integer ", "floating point ", "boolean ", "string "];
    let bare = TYPES.iter().find_map(|name| value.strip_prefix(name)).unwrap_or(value);
    bare.replace('`', "").replace("unit variant", "only a name").replace("sequence", "a list").replace("map", "a table")
}

/// The text with overlong words cut to their beginning.
pub(crate) fn shortened(text: &str) -> String {
    const MOST: usize = 60;
    let short = |word: &str| match word.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &word[..end]),
        None => word.to_owned(),
    };
    text.split(' ').map(short).collect::<Vec<_>>().join(" ")
}

/// The most similar valid name as the end of a message, if one is known.
pub fn did_you_mean(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or(String::new(), |name| format!(" (did you mean '{name}'?)"))
}

/// The part of a sentence that names all choices, or the command that lists them if they are many.
fn choices(kind: &str, known: &[String]) -> String {
    match known.len() {
        0..=SHORT_LIST => format!("there are: {}", known.join(", ")),
        many => format!("`casemate list {kind}s` shows all {many}"),
    }
}

/// Maximum number of names in an error.
const SHORT_LIST: usize = 16;
