//! Contract of every tree: a parent vouches for the present content of a child in its slot, and for no older or other
//! content.

use super::{Checked, LINE_BITS, flipped, hold, trees};
use crate::counter::Overflow;
use crate::design::{CipherChoice, CounterChoice, Covered, MacChoice, MacDesign, Parts, TreeDesign, TreeKind};
use crate::layout::{Layout, Region};
use crate::planted::PlantedBug;
use crate::tree::{Node, Parent, Tree};
use crate::verbs::{Role, Slot};
use crypto::LINE_NUMBER_BITS;
use std::collections::HashSet;
use strum::VariantArray;
use units::random::Random;
use units::{Line, ZERO_LINE};

const DATA_LINES: u64 = 1 << 14;
/// Writes of a child to memory after which each version that can overflow has done so.
const JOURNEYS: usize = 5_000;

/// Checks the tree of a composition against the contract.
pub fn check(parts: &Parts, planted: PlantedBug) -> Checked {
    let scheme = parts.build_with(DATA_LINES, 1, planted)?;
    let (layout, tree) = (scheme.layout(), scheme.fixed().unwrap().metadata.tree().ok_or("there is no tree")?);
    let leaves = layout.leaves().ok_or("a tree covers something")?;
    let regions: Vec<Region> = [leaves].into_iter().chain(layout.levels().iter().copied()).collect();
    families(parts, tree, layout, &regions)?;
    regions.iter().try_for_each(|region| one_child(tree, layout, region))
}

/// Every line below the root has one parent, at a separate position, and the parent knows the line.
fn families(parts: &Parts, tree: &Tree, layout: &Layout, regions: &[Region]) -> Checked {
    let mut taken = HashSet::new();
    for (level, region) in regions.iter().enumerate() {
        for slot in (0..region.lines).map(|index| region.slot(index)) {
            let parent = tree.parent(layout, slot).ok_or_else(|| format!("nobody vouches for {slot}"))?;
            let (node, stored) = match parent.node {
                Node::Root(line) => (line as u64, false),
                Node::Stored(node) => (node.0, true),
            };
            hold(parent.level == level && taken.insert((stored, node, parent.position)), || {
                format!("{slot} shares its place in its parent, {parent:?}")
            })?;
            hold(stored || node < parts.tree.root_lines, || format!("the root has no line {node}"))?;
            hold(tree.children(layout, parent, parent.position..parent.position + 1).eq([slot]), || {
                format!("{parent:?} does not know its child {slot}")
            })?;
        }
    }
    Ok(())
}

/// Updates of one child, from its blank state on.
fn one_child(tree: &Tree, layout: &Layout, region: &Region) -> Checked {
    let (role, slot) = (region.role, region.slot(region.lines / 2));
    let parent = tree.parent(layout, slot).ok_or("every line has a parent")?;
    let mut node = ZERO_LINE;
    let fits = |node: &Line, content: &Line| tree.fits(slot, role, content, tree.voucher(parent, node));
    hold(fits(&node, &ZERO_LINE), || format!("{role}: a blank child does not fit a blank parent"))?;
    let mut random = Random::new(1);
    let updated = |node: &mut Line, content: &Line| {
        let updated = tree.update(parent, node, slot, content);
        let voucher = updated.map_err(|overflow| format!("{role}: {overflow:?} at once"))?;
        Ok::<Line, String>(tree.seal_under(slot, role, content, voucher))
    };
    let first = updated(&mut node, &random.line())?;
    hold(fits(&node, &first), || format!("{role}: a child does not fit the parent that was told of it"))?;
    hold(!fits(&node, &ZERO_LINE), || format!("{role}: a written line passes for a blank one"))?;
    for bit in 0..LINE_BITS {
        hold(!fits(&node, &flipped(&first, bit)), || format!("{role}: bit {bit} of a child is not covered"))?;
    }
    elsewhere(tree, layout, region, parent, &node, &first)?;
    let before = node;
    let second = updated(&mut node, &random.line())?;
    hold(fits(&node, &second), || format!("{role}: a child does not fit the parent that was told of it again"))?;
    hold(!fits(&node, &first), || format!("{role}: an old child still fits"))?;
    for position in (0..tree.arity(parent.level) as usize).filter(|position| *position != parent.position) {
        let other = Parent { position, ..parent };
        hold(tree.voucher(other, &before) == tree.voucher(other, &node), || {
            format!("{role}: what is told of one child changes what is known of {position}")
        })?;
    }
    renewal(tree, parent, (slot, role), node, &second)
}

/// A child fits in no other slot: not next to the right slot, not on another level, not far away.
fn elsewhere(tree: &Tree, layout: &Layout, region: &Region, parent: Parent, node: &Line, child: &Line) -> Checked {
    let own = region.slot(region.lines / 2);
    let voucher = tree.voucher(parent, node);
    let same_level = (0..region.lines).map(|index| region.slot(index));
    let levels = layout.levels().iter().map(|level| level.slot(level.lines / 2));
    for other in same_level.chain(levels).filter(|other| *other != own) {
        let role = layout.role_and_index(other).0;
        hold(!tree.fits(other, role, child, voucher), || format!("the child of slot {own} fits at {other} as well"))?;
    }
    // Slots far away exist in larger memories.
    (0..LINE_NUMBER_BITS).map(|bit| Slot(own.0 ^ 1 << bit)).try_for_each(|other| {
        let fits = tree.fits(other, region.role, child, voucher);
        hold(!fits, || format!("the child of slot {own} fits far away, at {other}, as well"))
    })
}

/// If versions overflow, all children of the range get new versions. Only children that are sealed again fit.
fn renewal(tree: &Tree, parent: Parent, child: (Slot, Role), mut node: Line, content: &Line) -> Checked {
    for _ in 0..JOURNEYS {
        let positions = match tree.update(parent, &mut node, child.0, content) {
            Ok(_) => continue,
            Err(Overflow::Exhausted) => return Err("versions are exhausted before they overflow".into()),
            Err(Overflow::Renew { positions }) => positions,
        };
        let old = node;
        tree.renew(parent, &mut node, &positions).ok_or("an overflow that was reported is not renewed")?;
        for position in positions {
            let at = Parent { position, ..parent };
            let (old, new) = (tree.voucher(at, &old), tree.voucher(at, &node));
            let sealed = tree.seal_under(child.0, child.1, content, new);
            hold(tree.fits(child.0, child.1, &sealed, new), || "what was sealed anew does not fit".into())?;
            let changed = old != new || position != parent.position;
            let stale = tree.seal_under(child.0, child.1, content, old);
            hold(changed && (old == new || !tree.fits(child.0, child.1, &stale, new)), || {
                format!("the version at {position} is not renewed")
            })?;
        }
        return Ok(());
    }
    Ok(())
}

/// Every tree over every kind of leaf that it can cover.
fn choices() -> Vec<Parts> {
    let mac = MacDesign { code: MacChoice::Cmac, covers: vec![Covered::Address], ..MacDesign::default() };
    let over =
        |counters: CounterChoice, tree: &TreeDesign| super::composition(CipherChoice::Aes128Xts, counters, &mac, tree);
    let trees = trees();
    let all = CounterChoice::VARIANTS.iter().flat_map(|counters| trees.iter().map(|tree| over(*counters, tree)));
    all.filter(|parts| parts.tree.kind != TreeKind::None && parts.check().is_ok()).collect()
}

#[test]
fn every_integrity_tree_passes_the_conformance_check_of_trees() {
    let choices = choices();
    for parts in &choices {
        assert_eq!(check(parts, PlantedBug::NONE), Ok(()), "{:?} over {:?}", parts.tree, parts.counters);
    }
    let kinds: HashSet<_> = choices.iter().map(|parts| parts.tree.kind as u8).collect();
    assert_eq!(kinds.len(), TreeKind::VARIANTS.len() - 1, "every kind was checked");
}
