//! Kinds of lines in memory, with one table of what depends on the kind alone.
//!
//! A new kind of metadata is a variant of [`Kind`] and of [`Role`], and a row of the table. The compiler then names each
//! `match` that must handle it.

use enum_map::Enum;
use serde::{Serialize, Serializer};
use std::fmt;

/// Role of a slot, with the level of a tree node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The program's data, encrypted or not.
    Data,
    /// Encryption counters of lines.
    Counter,
    /// Authentication tags of data lines.
    Tag,
    /// A node of the integrity tree; level 0 is directly above the counters.
    Node(u8),
    /// Owners of pages, as entries of a table.
    Owner,
    /// Bitmaps of lines with re-ordered words.
    Bitmap,
    /// Records of page chunks: the slot of each line of a page chunk, and the numbers under which its lines are
    /// encrypted.
    Record,
    /// Encrypted contexts of secure processes that are outside the chip.
    Context,
}

/// Kind of a slot: its role without the level in the tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Enum)]
pub enum Kind {
    /// Data of the program.
    Data,
    /// Encryption counters of lines.
    Counters,
    /// Authentication tags of lines.
    Tags,
    /// Nodes of the integrity tree.
    Nodes,
    /// Owners of pages, as entries of a table.
    Owners,
    /// Bitmaps of re-ordered lines.
    Bitmaps,
    /// Records of page chunks that are permuted.
    Records,
    /// Encrypted contexts of processes.
    Contexts,
}

impl Kind {
    /// Everything that depends on the kind alone.
    pub fn facts(self) -> KindFacts {
        use MetadataCacheKind as Cache;
        let facts = |name, role, cache, flush_turn| KindFacts { name, role, cache, flush_turn };
        match self {
            Kind::Data => facts("data", |_| Role::Data, None, None),
            Kind::Counters => facts("counters", |_| Role::Counter, Some(Cache::Counters), Some(3)),
            Kind::Tags => facts("tags", |_| Role::Tag, Some(Cache::Tags), Some(2)),
            Kind::Nodes => facts("nodes", Role::Node, Some(Cache::Nodes), Some(4)),
            // Owners are looked up by page, like counters, and share their cache.
            Kind::Owners => facts("owners", |_| Role::Owner, Some(Cache::Counters), Some(0)),
            Kind::Bitmaps => facts("bitmaps", |_| Role::Bitmap, Some(Cache::Bitmaps), Some(1)),
            Kind::Records => facts("records", |_| Role::Record, None, None),
            Kind::Contexts => facts("contexts", |_| Role::Context, None, None),
        }
    }

    /// Name in records and messages.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// The metadata cache for lines of this kind, where each cache has its own kinds; `None` if no metadata cache keeps
    /// them.
    pub fn cache(self) -> Option<MetadataCacheKind> {
        self.facts().cache
    }

    /// The metadata cache in which a mechanism looks lines of this kind up.
    ///
    /// # Panics
    /// If no metadata cache keeps them: no mechanism looks them up there.
    pub fn looked_up_in(self) -> MetadataCacheKind {
        self.cache().unwrap_or_else(|| unreachable!("no metadata cache keeps {}", self.name()))
    }

    /// Returns all kinds, data first.
    pub fn all() -> impl Iterator<Item = Kind> {
        (0..Kind::LENGTH).map(Kind::from_usize)
    }

    /// Roles of the lines in metadata caches under a tree with this number of stored levels, in the order of a flush:
    /// the write-back of a line makes only lines of later roles dirty.
    pub fn roles_to_flush(levels: usize) -> Vec<Role> {
        let mut kinds: Vec<Kind> = Kind::all().filter(|kind| kind.facts().flush_turn.is_some()).collect();
        kinds.sort_by_key(|kind| kind.facts().flush_turn);
        let levels_of = |kind| if kind == Kind::Nodes { levels } else { 1 };
        let roles = |kind: Kind| (0..levels_of(kind)).map(move |level| (kind.facts().role)(level as u8));
        kinds.into_iter().flat_map(roles).collect()
    }
}

/// Everything that depends on the kind of a line alone; a new kind needs one row in [`Kind::facts`].
pub struct KindFacts {
    /// Name in records and messages.
    pub name: &'static str,
    /// Role of a line of this kind; at this level, for nodes of the tree.
    pub role: fn(u8) -> Role,
    /// The metadata cache for these lines, if one keeps them.
    pub cache: Option<MetadataCacheKind>,
    /// Turn in a flush of the metadata caches, from the leaves up.
    pub flush_turn: Option<u8>,
}

/// A metadata cache, where each has its own kinds of lines.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Enum)]
pub enum MetadataCacheKind {
    /// Encryption counters, and owners of pages.
    Counters,
    /// Authentication tags of lines.
    Tags,
    /// Nodes of the integrity tree.
    Nodes,
    /// Bitmaps of re-ordered lines.
    Bitmaps,
}

impl MetadataCacheKind {
    /// Number of these caches.
    pub const COUNT: usize = <MetadataCacheKind as Enum>::LENGTH;

    /// Returns all caches, in the order of records.
    pub fn all() -> impl Iterator<Item = MetadataCacheKind> {
        (0..MetadataCacheKind::COUNT).map(MetadataCacheKind::from_usize)
    }

    /// Name in records and design files.
    pub fn name(self) -> &'static str {
        match self {
            MetadataCacheKind::Counters => "counters",
            MetadataCacheKind::Tags => "tags",
            MetadataCacheKind::Nodes => "nodes",
            MetadataCacheKind::Bitmaps => "bitmaps",
        }
    }

    /// Contents of the cache, in words of messages.
    pub fn contents(self) -> &'static str {
        match self {
            MetadataCacheKind::Nodes => "tree nodes",
            other => other.name(),
        }
    }
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Role {
    /// Kind of this role.
    pub fn kind(self) -> Kind {
        match self {
            Role::Data => Kind::Data,
            Role::Counter => Kind::Counters,
            Role::Tag => Kind::Tags,
            Role::Node(_) => Kind::Nodes,
            Role::Owner => Kind::Owners,
            Role::Bitmap => Kind::Bitmaps,
            Role::Record => Kind::Records,
            Role::Context => Kind::Contexts,
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Role::Data => f.write_str("data"),
            Role::Counter => f.write_str("counter"),
            Role::Tag => f.write_str("tag"),
            Role::Node(level) => write!(f, "tree level {level}"),
            Role::Owner => f.write_str("owner"),
            Role::Bitmap => f.write_str("bitmap"),
            Role::Record => f.write_str("record"),
            Role::Context => f.write_str("context"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_role_of_each_kind_is_of_this_kind() {
        for kind in Kind::all() {
            assert_eq!((kind.facts().role)(2).kind(), kind);
        }
    }

    #[test]
    fn a_flush_visits_the_lines_of_each_cached_kind_once_and_the_levels_of_the_tree_last() {
        let roles = Kind::roles_to_flush(3);
        assert_eq!(roles.last_chunk(), Some(&[0, 1, 2].map(Role::Node)));
        for kind in Kind::all() {
            let visits = roles.iter().filter(|role| role.kind() == kind).count();
            let lines = if kind == Kind::Nodes { 3 } else { 1 };
            assert_eq!(visits, if kind.cache().is_some() { lines } else { 0 }, "{kind:?}");
        }
    }
}
