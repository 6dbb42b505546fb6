//! A design as its file says it.

use crate::claims::Claims;
use crate::error::ConfigError;
use protection::design::Parts;
use serde::{Deserialize, Serialize};

/// A named composition of parts, with its claims.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Design {
    /// Its name, which is also its file's.
    pub name: String,
    /// What it is, in a sentence.
    pub summary: String,
    /// The class of protection, from C0 (plain memory) up: C1 encryption without counters, C1' counter mode without tags,
    /// C3 encryption with tags, C4 with freshness.
    pub design_class: String,
    /// Where it comes from.
    pub source: String,
    /// Its parts.
    pub parts: Parts,
    /// What it claims to withstand.
    pub claims: Claims,
}

impl Design {
    /// Reads the text of a design file.
    ///
    /// # Errors
    /// The line and the key that are wrong; the rule that the composition breaks; the attack about which nothing is claimed.
    pub fn parse(file: &str, text: &str) -> Result<Design, ConfigError> {
        let design: Design = toml::from_str(text).map_err(|error| ConfigError::syntax(file, text, &error))?;
        let rule = |rule| ConfigError::Rule { file: file.to_owned(), rule };
        design.parts.check().map_err(rule)?;
        match design.claims.missing() {
            Some(attack) => Err(rule(format!("claims says nothing about '{attack}': every attack needs a claim"))),
            None => Ok(design),
        }
    }
}
