//! The map of an attacker: it has every region of every memory.

use casemate_campaign::bus::{Map, Structure};
use casemate_campaign::victim::{DATA_LINES, memory_of};
use catalogue::designs;
use enum_map::{Enum, EnumMap};
use protection::planted::PlantedBug;
use protection::slot::Kind;

#[test]
fn each_region_of_each_design_is_a_separate_structure_and_each_kind_of_region_occurs() {
    let mut seen: EnumMap<Kind, bool> = EnumMap::default();
    for design in designs() {
        let scheme = design.parts.build_with(memory_of(&design.parts, DATA_LINES), 1, PlantedBug::NONE).unwrap();
        let (regions, map) = (scheme.layout().regions(), Map::new(scheme.layout()));
        let mut found: Vec<Structure> = Vec::new();
        for region in regions {
            let [first, last] = [0, region.lines - 1].map(|index| map.structure(region.slot(index)));
            assert_eq!(first, last, "{}: {region:?}", design.name);
            assert!(!found.contains(&first) && map.lines_each(first) > 0, "{}: {region:?}", design.name);
            found.push(first);
            seen[region.role.kind()] = true;
        }
    }
    assert_eq!(seen.values().filter(|seen| **seen).count(), Kind::LENGTH, "{seen:?}");
}
