//! A design as its file says it, with what its class claims.

use crate::claims::{Attack, Claims, Loss};
use crate::class;
use crate::error::ConfigError;
use crate::name;
use protection::design::{Parts, Persistence, Understood};
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
    /// C2 as C1 with owners of pages, C3 encryption with tags, C4 with freshness, C5 with recovery after a loss of power,
    /// C6 with hidden addresses. It says how every row ends that the file does not name.
    #[serde(deserialize_with = "class::known")]
    pub design_class: String,
    /// Where it comes from.
    pub source: String,
    /// What the source has and the model lacks, or the other way round, where a claim could be misread for it: a sentence
    /// each.
    #[serde(default)]
    pub leaves_out: Vec<String>,
    /// Its parts.
    pub parts: Parts,
    /// Whether firmware looks for aliases of addresses before it lets memory be used.
    #[serde(default)]
    pub alias_check: bool,
    /// The worst end of each attack. A file names the attacks that end otherwise than the class says
    /// (`casemate attack --print-claims`).
    #[serde(default)]
    pub claims: Claims<Attack>,
    /// The worst end of each kind of loss of power, in the same way.
    #[serde(default)]
    pub crash: Claims<Loss>,
    /// The file that it was read from; nothing if it is built in.
    #[serde(skip)]
    pub file: Option<String>,
}

/// A design with what its text leaves out: each key has the value with which it comes last.
#[derive(Serialize)]
pub(crate) struct InFull<'a> {
    #[serde(flatten)]
    design: &'a Design,
    parts: PartsInFull<'a>,
}

#[derive(Serialize)]
struct PartsInFull<'a> {
    #[serde(flatten)]
    parts: &'a Parts,
    persistence: PersistenceInFull<'a>,
}

#[derive(Serialize)]
struct PersistenceInFull<'a> {
    #[serde(flatten)]
    said: &'a Persistence,
    #[serde(flatten)]
    understood: Understood,
}

impl<'a> InFull<'a> {
    /// That of this design.
    pub(crate) fn of(design: &'a Design) -> InFull<'a> {
        let (parts, said) = (&design.parts, &design.parts.persistence);
        let persistence = PersistenceInFull { said, understood: said.understood() };
        InFull { design, parts: PartsInFull { parts, persistence } }
    }
}

impl Design {
    /// What names it on a command line: its name if it is built in, and its file otherwise, quoted for a shell if need be.
    pub fn called(&self) -> String {
        let plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./+,:@".contains(c));
        match &self.file {
            None => self.name.clone(),
            Some(file) if plain(file) => file.clone(),
            Some(file) => format!("'{}'", file.replace('\'', "'\\''")),
        }
    }

    /// Reads the text of a design file. What it does not claim, its class does.
    ///
    /// # Errors
    /// The line and the key that are wrong; the rule that the composition breaks.
    pub fn parse(file: &str, text: &str) -> Result<Design, ConfigError> {
        let mut design: Design =
            toml::from_str(text).map_err(|error| ConfigError::syntax::<Design>(file, text, &error))?;
        if let Some(class) = class::class(&design.design_class) {
            design.claims = design.claims.or(&class.claims);
            // What a class says of a battery is of those that have one.
            let has_battery = design.parts.persistence.has_battery();
            design.crash = design.crash.or_where(&class.crash, |loss| has_battery || !loss.is_on_battery());
        }
        let rule = |rule| ConfigError::Rule { file: file.to_owned(), rule };
        name::check(&design.name).map_err(rule)?;
        design.parts.check().map_err(rule)?;
        Ok(design)
    }

    /// The rows about which it claims nothing.
    pub fn unclaimed(&self) -> Vec<&'static str> {
        // Where nothing survives, there is nothing more to lose.
        let losses = if self.parts.persistence.exists() { Loss::ALL } else { &[Loss::PowerLoss] };
        let attacks = self.claims.missing(Attack::ALL).map(Attack::name);
        let has_battery = self.parts.persistence.has_battery();
        let losses = self.crash.missing(losses).filter(|loss| has_battery || !loss.is_on_battery());
        attacks.chain(losses.map(Loss::name)).collect()
    }
}
