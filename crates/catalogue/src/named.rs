//! Enumerations with a name and a sentence for each value. Files, commands, help pages and tables get both from the
//! type.

/// Defines an enumeration with names and sentences that can be listed. The sentences are the doc comments, so users
/// read them.
macro_rules! named {
    ($(#[doc = $what:literal])+ $kind:ident: $($(#[doc = $doc:literal])+ $name:ident = $text:literal),* $(,)?) => {
        $(#[doc = $what])+
        #[derive(
            Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize,
        )]
        #[serde(rename_all = "kebab-case")]
        pub enum $kind { $($(#[doc = $doc])+ $name),* }

        impl $kind {
            /// All values, in order.
            pub const ALL: &'static [$kind] = &[$($kind::$name),*];

            /// The name used in files and on the command line.
            pub fn name(self) -> &'static str {
                match self { $($kind::$name => $text),* }
            }

            /// Meaning of the value, in a sentence.
            pub fn summary(self) -> &'static str {
                match self { $($kind::$name => concat!($($doc),+).trim_ascii()),* }
            }
        }

        impl std::fmt::Display for $kind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

pub(crate) use named;
