//! Every value of a machine or a design with its origin: a change takes precedence over the file, and the file over the default.

use crate::changes::Change;
use crate::error::ConfigError;
use serde::Serialize;
use serde_json::Value;
use toml::Table;

/// The tables of a design that its class fills in.
const CLAIMS: [&str; 2] = ["claims.", "crash."];

/// Origin of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SettingOrigin {
    /// The file contains the value.
    File,
    /// The file omits the key, and the class of the design supplies the value.
    Class,
    /// The file omits the key, and the key has a default.
    Default,
    /// A change (`--with`) set the value.
    Change,
}

/// A key with its value.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Setting {
    /// Path of the key.
    pub key: String,
    /// Value in the syntax of a file; absent for a key without a value.
    pub value: Option<String>,
    /// Origin of the value.
    pub source: SettingOrigin,
}

/// The settings of a file with these changes.
///
/// # Errors
/// [`ConfigError::Rule`] if it cannot be serialized.
pub(crate) fn of(
    resolved: &impl Serialize,
    (file, text): (&str, &str),
    changes: &[Change],
) -> Result<Vec<Setting>, ConfigError> {
    let unwritable = |rule| ConfigError::Rule { file: file.to_owned(), rule };
    let said: Table = toml::from_str(text).map_err(|error| ConfigError::syntax::<Table>(file, text, &error))?;
    let setting = |(key, value): (String, Value)| {
        let is_changed = |(changed, _): &Change| key == *changed || key.starts_with(&format!("{changed}."));
        let source = match changes.iter().any(is_changed) {
            true => SettingOrigin::Change,
            false if is_said(&said, &key) => SettingOrigin::File,
            false if CLAIMS.iter().any(|table| key.starts_with(table)) => SettingOrigin::Class,
            false => SettingOrigin::Default,
        };
        Setting { key, value: (!value.is_null()).then(|| value.to_string()), source }
    };
    Ok(values(resolved).map_err(unwritable)?.into_iter().map(setting).collect())
}

/// All values with the paths of their keys.
///
/// # Errors
/// A sentence for a value that cannot be serialized.
pub(crate) fn values(resolved: &impl Serialize) -> Result<Vec<(String, Value)>, String> {
    let mut found = Vec::new();
    list(serde_json::to_value(resolved).map_err(|error| error.to_string())?, "", &mut found);
    Ok(found)
}

/// Lists values before tables, as in a file.
fn list(value: Value, path: &str, found: &mut Vec<(String, Value)>) {
    let Value::Object(keys) = value else {
        found.push((path.to_owned(), value));
        return;
    };
    let (tables, values): (Vec<_>, Vec<_>) = keys.into_iter().partition(|(_, value)| value.is_object());
    for (key, value) in values.into_iter().chain(tables) {
        let path = if path.is_empty() { key } else { format!("{path}.{key}") };
        list(value, &path, found);
    }
}

/// Returns true if a file has a value for this key.
fn is_said(said: &Table, key: &str) -> bool {
    let (first, rest) = key.split_once('.').unwrap_or((key, ""));
    match said.get(first) {
        Some(toml::Value::Table(table)) if !rest.is_empty() => is_said(table, rest),
        found => found.is_some() && rest.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{design_settings, machine_settings};

    #[test]
    fn every_value_of_a_machine_names_its_source() {
        let changes = [("node.l2.size".to_owned(), "1 MB".to_owned())];
        let settings = machine_settings("modern", &changes).unwrap();
        let of = |key: &str| {
            let found = settings.iter().find(|setting| setting.key == key).unwrap_or_else(|| panic!("no {key}"));
            (found.value.clone().unwrap_or_default(), found.source)
        };
        assert_eq!(of("node.l2.size"), ("\"1 MB\"".to_owned(), SettingOrigin::Change));
        assert_eq!(of("node.l2.ways"), ("8".to_owned(), SettingOrigin::File));
        assert_eq!(of("llc.size"), ("\"8 MB\"".to_owned(), SettingOrigin::File));
        assert_eq!(of("node.write_buffer"), (String::new(), SettingOrigin::Default));
    }

    #[test]
    fn settings_list_persist_buffer_defaults_only_for_designs_with_a_buffer() {
        let of = |design, changes: &[Change]| -> Vec<_> {
            let settings = design_settings(design, changes).unwrap();
            let shown = settings.into_iter().filter_map(|setting| {
                let key = setting.key.strip_prefix("parts.persistence.")?.to_owned();
                Some((key, setting.value?, setting.source))
            });
            shown.collect()
        };
        let has = |key: &str, value: &str, source| (key.to_owned(), value.to_owned(), source);
        let buffer = of("secpb-cm", &[("parts.persistence.drain_to".to_owned(), "0.25".to_owned())]);
        for expected in [
            has("battery", "\"tuples\"", SettingOrigin::Default),
            has("drain_from", "0.75", SettingOrigin::File),
            has("drain_to", "0.25", SettingOrigin::Change),
            has("entries", "32", SettingOrigin::File),
            has("latency_cycles", "2", SettingOrigin::Default),
            has("point", "\"buffer\"", SettingOrigin::File),
        ] {
            assert!(buffer.contains(&expected), "{expected:?} is not in {buffer:?}");
        }
        let at_controller = of("plp-sp", &[]);
        assert!(at_controller.contains(&has("point", "\"controller\"", SettingOrigin::Default)), "{at_controller:?}");
        assert!(!at_controller.iter().any(|(key, ..)| key == "entries"), "{at_controller:?}");
    }

    #[test]
    fn design_settings_state_if_a_claim_is_from_the_class_or_the_file() {
        let settings = design_settings("emcc", &[]).unwrap();
        let of = |key: &str| settings.iter().find(|setting| setting.key == key).map(|setting| setting.source);
        assert_eq!(of("claims.flip-data"), Some(SettingOrigin::Class));
        assert_eq!(of("crash.power-loss"), Some(SettingOrigin::Class));
        assert_eq!(of("claims.stale-copy"), Some(SettingOrigin::File));
        assert_eq!(of("parts.release"), Some(SettingOrigin::Default));
    }
}
