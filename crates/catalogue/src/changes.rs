//! Changes of single keys of a machine or design file, for example by a sweep.
//!
//! ```text
//! engines.aes.latency_ns = 25        llc.size = "48 MB"        parts.caches.counters = 512 KB
//! ```
//! A change names a key by its path, and gives a value as in a TOML file. A value that is not TOML counts as text, and an empty value
//! removes the key, as in `node.l2.prefetcher =`. The changes apply to the file with all its defaults, so that a change can reach a table
//! that the file omits. The result is parsed like any other file, so it must obey the same rules, and the record of a run contains every
//! value as used.

use crate::error::{ConfigError, did_you_mean, shortened};
use toml::{Table, Value};
use units::nearest;

/// A key with its new value.
pub type Change = (String, String);

/// Returns the text of a file with this table after the changes of keys.
///
/// # Errors
/// [`ConfigError::Changed`] for a change with a path that leads through a value.
pub(crate) fn changed(
    file: &str,
    table: Result<Table, toml::ser::Error>,
    changes: &[Change],
) -> Result<String, ConfigError> {
    let mut table = table.map_err(|error| wrong(file, changes, &error.to_string()))?;
    for change in changes {
        put(&mut table, change).map_err(|rule| wrong(file, std::slice::from_ref(change), &rule))?;
    }
    toml::to_string(&table).map_err(|error| wrong(file, changes, &error.to_string()))
}

/// Turns an error in a changed file into an error that blames the changes, because the original file was correct.
pub(crate) fn blame(changes: &[Change], error: ConfigError) -> ConfigError {
    match error {
        ConfigError::Syntax { file, message, nearest, .. } => {
            ConfigError::Changed { file, changes: listed(changes), message, nearest }
        }
        ConfigError::Rule { file, rule } => wrong(&file, changes, &rule),
        other => other,
    }
}

fn wrong(file: &str, changes: &[Change], message: &str) -> ConfigError {
    ConfigError::Changed { file: file.to_owned(), changes: listed(changes), message: message.to_owned(), nearest: None }
}

fn listed(changes: &[Change]) -> String {
    let said = |(key, value): &Change| match value.trim() {
        "" => format!("{key} left out"),
        value => shortened(&format!("{key} = {value}")),
    };
    let each: Vec<String> = changes.iter().map(said).collect();
    each.join(", ")
}

/// Sets a key, or removes it if the value is empty. The key and its table need not exist, because many keys are optional; the parser of the
/// result refuses unknown keys.
fn put(table: &mut Table, (key, value): &Change) -> Result<(), String> {
    if let Some(whole) = key_below(table, key) {
        return Err(format!("unknown key: did you mean '{whole}'?"));
    }
    let (path, last) = key.rsplit_once('.').unwrap_or(("", key));
    let mut inner = table;
    for part in path.split('.').filter(|part| !part.is_empty()) {
        let next = inner.entry(part).or_insert_with(|| Table::new().into());
        inner = next.as_table_mut().ok_or_else(|| format!("'{part}' is a value, not a table of keys"))?;
    }
    if value.trim().is_empty() {
        return match inner.remove(last) {
            Some(_) => Ok(()),
            None => {
                let near = nearest(last, inner.keys().map(String::as_str)).map(str::to_owned);
                Err(format!("'{last}' has no value to leave out{}", did_you_mean(&near)))
            }
        };
    }
    inner.insert(last.to_owned(), read(value));
    Ok(())
}

/// The full path of a key that an error names relative to a table: `parts.persistence.point` for `persistence.point`.
fn key_below(file: &Table, key: &str) -> Option<String> {
    let first = key.split('.').next().filter(|first| !file.contains_key(*first))?;
    let has_it = |value: &Value| value.as_table().is_some_and(|table| table.contains_key(first));
    file.iter().find(|(_, value)| has_it(value)).map(|(parent, _)| format!("{parent}.{key}"))
}

fn read(value: &str) -> Value {
    let read: Option<Table> = toml::from_str(&format!("value = {value}")).ok();
    read.and_then(|mut table| table.remove("value")).unwrap_or_else(|| Value::String(value.to_owned()))
}

#[cfg(test)]
mod tests {
    use crate::{design_with, machine, machine_with};
    use units::Bytes;

    fn change(key: &str, value: &str) -> Vec<super::Change> {
        vec![(key.to_owned(), value.to_owned())]
    }

    #[test]
    fn an_override_sets_one_key_of_a_machine_and_keeps_all_other_values() {
        let changed = machine_with("emcc-4core", &change("engines.aes.latency_ns", "25")).unwrap();
        let mut expected = machine("emcc-4core").unwrap();
        expected.engines.aes.latency_ns = 25.0;
        assert_eq!(changed, expected);
    }

    #[test]
    fn an_override_accepts_unquoted_text_and_keys_that_the_machine_file_omits() {
        let size = |value| machine_with("emcc-4core", &change("llc.size", value)).unwrap().llc.size;
        assert_eq!([size("16 MB"), size("\"16 MB\"")], [Bytes(16 << 20); 2]);
        assert_eq!(machine_with("emcc-4core", &change("memory.channels", "8")).unwrap().memory.channels, 8);
    }

    #[test]
    fn an_override_in_a_table_that_the_file_omits_sets_only_its_key() {
        let changed = machine_with("modern", &change("node.l2.size", "1 MB")).unwrap();
        let mut expected = machine("modern").unwrap();
        expected.node.l2.size = Bytes(1 << 20);
        assert_eq!(changed, expected);
    }

    #[test]
    fn an_override_without_a_value_removes_an_optional_key() {
        let changed = machine_with("modern", &change("node.l2.prefetcher", "")).unwrap();
        let mut expected = machine("modern").unwrap();
        assert!(expected.node.l2.prefetcher.take().is_some());
        assert_eq!(changed, expected);
        let refused = |key| machine_with("modern", &change(key, " ")).unwrap_err().to_string();
        assert!(
            refused("node.l2.prefetch").contains("'prefetch' has no value to leave out (did you mean 'prefetcher'?)")
        );
        assert!(refused("name").contains("missing field `name`"), "{}", refused("name"));
    }

    #[test]
    fn an_override_without_a_value_restores_the_default_of_a_key() {
        let buffer = |changes: &[super::Change]| design_with("secpb-cm", changes).unwrap().parts.persistence;
        for key in ["entries", "drain_from", "drain_to", "latency_cycles", "battery"] {
            let path = format!("parts.persistence.{key}");
            assert_eq!(buffer(&change(&path, "")), buffer(&[]), "{key}");
        }
        let both = ["3", ""].map(|value| ("parts.persistence.latency_cycles".to_owned(), value.to_owned()));
        assert_eq!((buffer(&both[..1]).latency_cycles, buffer(&both).latency_cycles), (3, 2));
        let refused = design_with("sc64-bmt", &change("parts.persistence.entries", "")).unwrap_err().to_string();
        assert!(
            refused.contains("parts.persistence.entries left out: 'entries' has no value to leave out"),
            "{refused}"
        );
    }

    #[test]
    fn overriding_a_key_with_its_present_value_leaves_the_configuration_equal() {
        for machine in crate::machines() {
            let change = change("memory.size", &machine.memory.size.to_string());
            assert_eq!(machine_with(&machine.name, &change).unwrap(), machine);
        }
        for design in crate::designs() {
            assert_eq!(design_with(&design.name, &change("name", &design.name)).unwrap(), design);
        }
    }

    #[test]
    fn an_override_of_an_unknown_key_is_refused_with_the_nearest_valid_key() {
        let refused = |key, value| machine_with("emcc-4core", &change(key, value)).unwrap_err().to_string();
        let unknown = refused("engines.aes.latency", "25");
        assert!(unknown.contains("engines.aes.latency = 25") && unknown.contains("'latency_ns'"), "{unknown}");
        assert!(refused("engine.aes.latency_ns", "25").contains("did you mean 'engines'?"));
        assert!(refused("l2.size", "1 MB").contains("did you mean 'node.l2.size'?"), "{}", refused("l2.size", "1 MB"));
        let of_design = design_with("secpb-cm", &change("persistence.entries", "2")).unwrap_err().to_string();
        assert!(of_design.contains("did you mean 'parts.persistence.entries'?"), "{of_design}");
        assert!(refused("llc.size.bytes", "25").contains("'size' is a value"));
        assert!(refused("llc.size", "3 MB").contains("llc.size = 3 MB"));
        let digits = "9".repeat(300);
        let long = refused("engines.aes.units", &digits);
        assert!(long.contains("expected a whole number, 0 or more") && long.len() < 300, "{long}");
        assert!(refused("cores", "1.5").contains("cores: found 1.5, expected a whole number"));
        let clock = refused("node.clock_mhz", "333.3333");
        assert!(clock.contains("as a ratio as in \"500/3 MHz\"; the nearest is \"1000/3 MHz\""), "{clock}");
        let broken = design_with("emcc", &change("parts.counters", "none")).unwrap_err().to_string();
        assert!(broken.contains("parts.counters = none"), "{broken}");
    }
}
