//! Recovery of the tree: reads and checks its memory after a restart. It shares only the layout with the writer.

use super::super::durable::{Damage, Image, RecoveredOperation, Recovery};
use super::layout::{BtreeNode, LEAF, MAX_KEYS, NODE_BYTES, NODES_OFFSET};
use std::ops::Range;
use units::random::mix;

/// Limit on the levels: a deeper tree does not fit into the address space.
const LEVELS_MAX: usize = 20;

pub struct TreeRecovery {
    /// Address of the root's word.
    pub base: u64,
    /// Size of the kernel's memory in bytes.
    pub bytes: u64,
    /// Number of keys in the tree at the start.
    pub preload: u64,
    pub salt: u64,
}

/// Walk over the tree, in the order of keys.
struct KeyWalk {
    nodes: Range<u64>,
    /// Number of nodes that the walk may still visit.
    left: u64,
    leaf_level: Option<usize>,
    found: Vec<(u64, u64)>,
}

impl Recovery for TreeRecovery {
    fn commit_word(&self) -> u64 {
        self.base
    }

    fn recover(&self, image: &mut Image) -> Result<(u64, Vec<RecoveredOperation>), Damage> {
        let nodes = self.base + NODES_OFFSET..self.base + self.bytes;
        let left = (nodes.end - nodes.start) / NODE_BYTES;
        let mut walk = KeyWalk { nodes, left, leaf_level: None, found: Vec::new() };
        let root = image.word(self.base)?;
        walk.node(image, root, 0, 0..=u64::MAX)?;
        let mut held: Vec<RecoveredOperation> =
            walk.found.into_iter().map(|(key, number)| RecoveredOperation { number, words: vec![key] }).collect();
        held.sort_by_key(|held| held.number);
        if let Some((number, _)) = (0..).zip(&held).find(|(number, held)| held.number != *number) {
            return Err(Damage::found(format!("key {number} is missing, or another occurs twice")));
        }
        let operations = (held.len() as u64).checked_sub(self.preload);
        let operations = operations.ok_or_else(|| Damage::found("initial keys are missing".to_owned()))?;
        Ok((operations, held))
    }

    fn expected_words(&self, number: u64) -> Vec<u64> {
        vec![mix(self.salt ^ number)]
    }
}

impl KeyWalk {
    /// Visits a node. All its keys must be in the range `keys`.
    fn node(
        &mut self,
        image: &mut Image,
        addr: u64,
        level: usize,
        keys: std::ops::RangeInclusive<u64>,
    ) -> Result<(), Damage> {
        let whole = addr.checked_sub(self.nodes.start).is_some_and(|offset| offset % NODE_BYTES == 0);
        if !whole || addr >= self.nodes.end || level >= LEVELS_MAX || self.left == 0 {
            return Err(Damage::found(format!("{addr:#x} is not a node of a tree, on level {level}")));
        }
        self.left -= 1;
        let (node, header) = (BtreeNode(addr), image.word(addr)?);
        let count = header & !LEAF;
        if count > MAX_KEYS {
            return Err(Damage::found(format!("the node at {addr:#x} has {count} keys")));
        }
        let own = (0..count).map(|index| image.word(node.key(index).addr)).collect::<Result<Vec<u64>, Damage>>()?;
        if !own.is_sorted_by(|one, next| one < next) || own.iter().any(|key| !keys.contains(key)) {
            return Err(Damage::found(format!("the keys of the node at {addr:#x} are out of order")));
        }
        if header & LEAF != 0 {
            return self.leaf(image, node, level, &own);
        }
        let mut first = *keys.start();
        for (index, last) in (0..).zip(own.iter().map(|key| key.saturating_sub(1)).chain([*keys.end()])) {
            let child = image.word(node.slot(index).addr)?;
            self.node(image, child, level + 1, first..=last)?;
            first = last.saturating_add(1);
        }
        Ok(())
    }

    fn leaf(&mut self, image: &mut Image, node: BtreeNode, level: usize, keys: &[u64]) -> Result<(), Damage> {
        if *self.leaf_level.get_or_insert(level) != level {
            return Err(Damage::found(format!("the leaf at {:#x} is on another level than the first", node.0)));
        }
        for (index, key) in (0..).zip(keys) {
            self.found.push((*key, image.word(node.slot(index).addr)?));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const FIRST: u64 = NODES_OFFSET;

    /// Recovers a tree: a root with one key, and two leaves with one key each and the values 0 and 1.
    fn found(left: u64, root: u64, right: u64) -> Result<u64, Damage> {
        let node = |write_entry: u64| BtreeNode(FIRST + write_entry * NODE_BYTES);
        let mut words = BTreeMap::from([(0, FIRST)]);
        words.extend([(node(0).header().addr, 1), (node(0).key(0).addr, root)]);
        for (leaf, key) in [(1, left), (2, right)] {
            words.insert(node(0).slot(leaf - 1).addr, node(leaf).0);
            words.extend([(node(leaf).header().addr, LEAF | 1), (node(leaf).key(0).addr, key)]);
            words.insert(node(leaf).slot(0).addr, leaf - 1);
        }
        let mut read = |addr: u64| {
            let word = |index: u64| words.get(&(addr + 8 * index)).copied().unwrap_or_default().to_le_bytes();
            (0..8).flat_map(word).collect::<Vec<u8>>().try_into().ok()
        };
        let tree = TreeRecovery { base: 0, bytes: FIRST + 3 * NODE_BYTES, preload: 0, salt: 0 };
        tree.recover(&mut Image::new(&mut read)).map(|(operations, _)| operations)
    }

    #[test]
    fn b_tree_recovery_refuses_a_key_on_the_wrong_side_of_its_parent_key() {
        assert_eq!((found(49, 50, 50), found(0, 50, u64::MAX)), (Ok(2), Ok(2)));
        let refused = |leaf: u64| {
            let addr = FIRST + leaf * NODE_BYTES;
            Err(Damage::found(format!("the keys of the node at {addr:#x} are out of order")))
        };
        assert_eq!((found(50, 50, 51), found(60, 50, 70)), (refused(1), refused(1)));
        assert_eq!((found(49, 50, 49), found(10, 50, 30)), (refused(2), refused(2)));
    }
}
