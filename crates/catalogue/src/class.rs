//! Classes of designs, as data: the worst end of each row, an attack or a kind of loss, on a design of the class.
//!
//! The file `classes.toml` at the root of the repository contains the claims. No code computes them from the parts of a design: a campaign
//! that compares them with results would otherwise compare the code with itself. A design's file names only the rows that differ from its
//! class.

use crate::claims::{Attack, Claims, Loss};
use protection::design::{BatteryAction, CipherChoice, CounterChoice, MacChoice, MovingText, Parts, TreeKind};
use protection::ownership::Ownership;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Common claims of the designs of a class.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DesignClass {
    /// A sentence on the protection of the class and on the attacks that it does not stop.
    pub summary: String,
    /// The class that supplies all rows that this one omits.
    like: Option<String>,
    /// Worst end of each attack.
    #[serde(default)]
    pub claims: Claims<Attack>,
    /// Worst end of each loss of power.
    #[serde(default)]
    pub crash: Claims<Loss>,
}

/// All classes by their names, from the weakest to the strongest.
static CLASSES: LazyLock<BTreeMap<String, DesignClass>> =
    LazyLock::new(|| read(crate::embedded::CLASSES).unwrap_or_else(|error| panic!("classes.toml: {error}")));

/// The names of all classes, from the weakest to the strongest.
pub fn classes() -> impl Iterator<Item = &'static str> {
    CLASSES.keys().map(String::as_str)
}

/// The class of this name.
pub fn class(name: &str) -> Option<&'static DesignClass> {
    CLASSES.get(name)
}

/// The class of a composition of parts, and the properties that decide it.
fn of_parts(parts: &Parts) -> (&'static str, &'static str) {
    match parts.permutation.map(|permutation| permutation.lines) {
        Some(MovingText::Sealed) => return ("C6", "lines move, and are encrypted, tagged and fresh"),
        Some(MovingText::Plain) => return ("C0", "lines are neither encrypted nor tagged"),
        None => {}
    }
    let has_tags = parts.mac.code != MacChoice::None;
    let (encrypts, owned) = (parts.cipher != CipherChoice::None, parts.ownership != Ownership::None);
    let recovers = parts.persistence.exists() && parts.persistence.battery != BatteryAction::Data;
    match (encrypts, has_tags, parts.tree.kind != TreeKind::None) {
        (false, false, _) => ("C0", "lines are neither encrypted nor tagged"),
        (true, false, _) if owned => ("C2", "lines are encrypted and pages have owners, and lines have no tags"),
        (true, false, _) if parts.counters != CounterChoice::None => {
            ("C1'", "lines are encrypted under counters, and have no tags")
        }
        (true, false, _) => ("C1", "lines are encrypted without counters, and have no tags"),
        (_, true, false) => ("C3", "lines have tags, and no tree keeps them fresh"),
        (_, true, true) if recovers => {
            ("C5", "a tree keeps lines fresh, also after a loss of power, and addresses are visible")
        }
        (_, true, true) => ("C4", "a tree keeps lines fresh, and memory does not survive a loss of power"),
    }
}

/// Checks that the class in a design's file is the class of its parts, because the claims depend on it.
///
/// # Errors
/// A sentence with the right class and the reason.
pub(crate) fn check(said: &str, parts: &Parts) -> Result<(), String> {
    let (class, why) = of_parts(parts);
    if class == said {
        return Ok(());
    }
    Err(format!(
        "design_class = \"{said}\": these parts make a design of class {class}, since {why}; set design_class = \"{class}\""
    ))
}

/// The classes in a text, each with all its rows.
fn read(text: &str) -> Result<BTreeMap<String, DesignClass>, String> {
    let said: BTreeMap<String, DesignClass> = toml::from_str(text).map_err(|error| error.to_string())?;
    said.iter().map(|(name, class)| Ok((name.clone(), resolved(&said, name, class)?))).collect()
}

fn resolved(said: &BTreeMap<String, DesignClass>, name: &str, class: &DesignClass) -> Result<DesignClass, String> {
    let Some(like) = &class.like else { return Ok(class.clone()) };
    // The base of a class must not have a base itself, so that a reader of a class reads at most two.
    let base = said.get(like).filter(|base| base.like.is_none());
    let base = base.ok_or_else(|| format!("{name}.like = \"{like}\": expected a class that is like no other"))?;
    Ok(DesignClass {
        claims: class.claims.clone().or(&base.claims),
        crash: class.crash.clone().or(&base.crash),
        ..class.clone()
    })
}

/// Reads the name of a class.
///
/// # Errors
/// A message with all class names, for an unknown name.
pub(crate) fn known<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = String::deserialize(deserializer)?;
    if class(&name).is_some() {
        return Ok(name);
    }
    let known: Vec<String> = classes().map(|name| format!("`{name}`")).collect();
    Err(D::Error::custom(format!("unknown class `{name}`, expected one of {}", known.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_design_class_has_a_claim_about_each_attack_and_power_loss() {
        for (name, class) in &*CLASSES {
            assert_eq!(class.claims.missing(Attack::ALL).collect::<Vec<_>>(), [], "{name}");
            assert_eq!(class.crash.missing(&[Loss::PowerLoss]).collect::<Vec<_>>(), [], "{name}");
        }
    }

    #[test]
    fn no_design_class_repeats_a_claim_of_its_base_class() {
        let said: BTreeMap<String, DesignClass> = toml::from_str(crate::embedded::CLASSES).unwrap();
        for (name, class) in &said {
            let Some(base) = class.like.as_ref().map(|like| &said[like]) else { continue };
            assert_eq!(class.claims.repeated(&base.claims).collect::<Vec<_>>(), [], "{name}");
            assert_eq!(class.crash.repeated(&base.crash).collect::<Vec<_>>(), [], "{name}");
        }
    }

    #[test]
    fn a_design_class_may_extend_only_a_class_that_extends_no_other() {
        let base = "[A]\nsummary = \"\"\nclaims = { denial = \"detected\", badram = \"stale\" }\n";
        let like =
            |it: &str| format!("{base}[B]\nsummary = \"\"\nlike = \"{it}\"\nclaims = {{ badram = \"detected\" }}\n");
        let found = read(&like("A")).unwrap();
        let ends = [Attack::Denial, Attack::Badram].map(|row| found["B"].claims.about(row).unwrap().name());
        assert_eq!(ends, ["detected", "detected"]);
        for wrong in ["B", "C"] {
            let error = read(&like(wrong)).unwrap_err();
            assert!(error.starts_with(&format!("B.like = \"{wrong}\": expected a class")), "{error}");
        }
    }
}
