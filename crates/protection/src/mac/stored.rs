//! A tag that memory returned, until its comparison. Every read holds one of these values, and few tags are longer than
//! a word.

use crypto::Tag;

/// A tag as memory returned it.
#[derive(Clone, Debug)]
pub(crate) enum StoredTag {
    /// A tag of at most 64 bits.
    Word(u64),
    /// A longer tag, in a separate allocation.
    Wide(Box<Tag>),
}

impl StoredTag {
    /// Value for a line without a tag.
    pub const NONE: StoredTag = StoredTag::Word(0);

    /// Returns the tag's bits.
    #[inline]
    pub fn get(&self) -> Tag {
        match self {
            StoredTag::Word(word) => (*word).into(),
            StoredTag::Wide(tag) => **tag,
        }
    }
}

impl From<Tag> for StoredTag {
    #[inline]
    fn from(tag: Tag) -> StoredTag {
        let word = tag.low_word();
        if tag == word.into() { StoredTag::Word(word) } else { StoredTag::Wide(Box::new(tag)) }
    }
}
