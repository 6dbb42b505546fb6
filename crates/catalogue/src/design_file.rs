//! A design file, with the claims of its class.

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
    /// Name of the design, which is also the name of its file.
    pub name: String,
    /// Description of the design, in a sentence.
    pub summary: String,
    /// The class of protection. C0 is plain memory. C1 is encryption without counters, C1' counter mode without tags,
    /// C2 is C1 with owners of pages, and C3 encryption with tags. C4 adds freshness, C5 recovery after a loss of
    /// power, C6 hidden addresses. The class supplies the claim about every attack or loss that the file omits.
    #[serde(deserialize_with = "class::known")]
    pub design_class: String,
    /// Publication or product that the design models.
    pub source: String,
    /// Differences between the source and the model that a reader must know to interpret the claims; a sentence for
    /// each.
    #[serde(default)]
    pub leaves_out: Vec<String>,
    /// Parts of the design.
    pub parts: Parts,
    /// True if the firmware checks memory for address aliases, two addresses of one cell, before it allows the use of
    /// the memory.
    #[serde(default)]
    pub alias_check: bool,
    /// Worst end of each attack. A file names only the attacks with ends that differ from the class
    /// (`casemate attack --print-claims`).
    #[serde(default)]
    pub claims: Claims<Attack>,
    /// Worst end of each kind of loss of power, in the same way.
    #[serde(default)]
    pub crash: Claims<Loss>,
    /// Path of the file that it was read from; absent if it is built in.
    #[serde(skip)]
    pub file: Option<String>,
}

/// A design with all keys that its file omits, each with its effective value.
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
    /// Returns this design in full form.
    pub(crate) fn of(design: &'a Design) -> InFull<'a> {
        let (parts, said) = (&design.parts, &design.parts.persistence);
        let persistence = PersistenceInFull { said, understood: said.understood() };
        InFull { design, parts: PartsInFull { parts, persistence } }
    }
}

impl Design {
    /// Argument that names the design on a command line: its name if it is built in, otherwise its file, quoted for a shell if necessary.
    pub fn called(&self) -> String {
        let plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./+,:@".contains(c));
        match &self.file {
            None => self.name.clone(),
            Some(file) if plain(file) => file.clone(),
            Some(file) => format!("'{}'", file.replace('\'', "'\\''")),
        }
    }

    /// Reads the text of a design file. Its class supplies the claims that it omits.
    ///
    /// # Errors
    /// [`ConfigError`] with the line and the key that are wrong, or with the rule that the composition breaks.
    pub fn parse(file: &str, text: &str) -> Result<Design, ConfigError> {
        let mut design: Design =
            toml::from_str(text).map_err(|error| ConfigError::syntax::<Design>(file, text, &error))?;
        if let Some(class) = class::class(&design.design_class) {
            design.claims = design.claims.or(&class.claims);
            // The claims of a class about batteries apply only to designs with a battery.
            let has_battery = design.parts.persistence.has_battery();
            design.crash = design.crash.or_where(&class.crash, |loss| has_battery || !loss.is_on_battery());
        }
        let rule = |rule| ConfigError::Rule { file: file.to_owned(), rule };
        name::check(&design.name).map_err(rule)?;
        design.parts.check().map_err(rule)?;
        Ok(design)
    }

    /// Names of the rows without a claim.
    pub fn unclaimed(&self) -> Vec<&'static str> {
        // If the design does not survive a loss of power, all kinds of loss except `power-loss` do not apply.
        let losses = if self.parts.persistence.exists() { Loss::ALL } else { &[Loss::PowerLoss] };
        let attacks = self.claims.missing(Attack::ALL).map(Attack::name);
        let has_battery = self.parts.persistence.has_battery();
        let losses = self.crash.missing(losses).filter(|loss| has_battery || !loss.is_on_battery());
        attacks.chain(losses.map(Loss::name)).collect()
    }
}
