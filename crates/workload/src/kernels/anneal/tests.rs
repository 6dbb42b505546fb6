//! Compares the annealer with a plain one that keeps coordinates, uses no pointers and calls the library's exponential.

use super::super::testing::run;
use super::*;

/// Returns the total length of all nets before and after annealing.
fn plain(anneal: &Anneal, seed: u64) -> [i64; 2] {
    let mut random = Random::new(seed);
    let Netlist { pins, places } = Netlist::draw(anneal.elements, anneal.nets, &mut random);
    let side = (anneal.elements as f64).sqrt().ceil() as u32;
    let mut at: Vec<[i64; 2]> = places.iter().map(|cell| [cell % side, cell / side].map(i64::from)).collect();
    let apart = |one: [i64; 2], other: [i64; 2]| (one[0] - other[0]).abs() + (one[1] - other[1]).abs();
    let total = |at: &[[i64; 2]]| {
        // Every net has two ends.
        let of = |element: usize| pins[element].iter().map(|pin| apart(at[*pin as usize], at[element])).sum::<i64>();
        (0..at.len()).map(of).sum::<i64>() / 2
    };
    let before = total(&at);
    let mut temperature = anneal.start;
    let mut second = random.below(anneal.elements) as usize;
    for _ in 0..anneal.temperatures {
        for _ in 0..anneal.swaps {
            let first = second;
            while second == first {
                second = random.below(anneal.elements) as usize;
            }
            let gain = |element: usize, to: [i64; 2]| {
                let far = |from| pins[element].iter().map(|pin| apart(from, at[*pin as usize])).sum::<i64>();
                far(at[element]) - far(to)
            };
            let gained = gain(first, at[second]) + gain(second, at[first]);
            if gained > 0 || random.unit() < (gained as f64 / temperature).exp() {
                at.swap(first, second);
            }
        }
        temperature /= COOLING;
    }
    [before, total(&at)]
}

#[test]
fn the_anneal_kernel_ends_with_the_net_length_of_a_naive_annealer() {
    for (elements, nets, seed) in [(400, 3, 1), (1000, 5, 2), (2, 1, 3), (30, 2, 4)] {
        let anneal = Anneal { elements, nets, swaps: 2000, temperatures: 15, start: 100.0 };
        let [before, after] = plain(&anneal, seed);
        let texts = [elements, nets, anneal.swaps, anneal.temperatures].map(|number| number.to_string());
        let names = ["elements", "nets", "swaps", "temperatures"];
        let mut given: Vec<_> = names.into_iter().zip(texts.iter().map(String::as_str)).collect();
        given.push(("start", "100"));
        assert_eq!(run(&INFO, &given, seed).answer, after as u64, "{given:?}");
        // Two elements can only exchange locations, and this does not change the length of their nets.
        assert!(after < before || elements == 2, "{given:?}: {before} became {after}");
    }
}

#[test]
fn the_anneal_kernel_approximates_the_exponential_function() {
    for step in 0..4000 {
        let loss = f64::from(step) * 0.01;
        let (found, expected) = (probability(loss), (-loss).exp());
        assert!((found - expected).abs() <= 2e-7 * expected, "{loss}: {found} is not {expected}");
    }
    assert!(probability(1e9) < f64::MIN_POSITIVE * 2.0);
}

#[test]
fn every_net_connects_two_different_elements() {
    let Netlist { pins, .. } = Netlist::draw(50, 4, &mut Random::new(9));
    let ends = |from: usize, to: usize| pins[from].iter().filter(|pin| **pin as usize == to).count();
    for one in 0..50 {
        assert_eq!(ends(one, one), 0);
        assert!((0..50).all(|other| ends(one, other) == ends(other, one)));
    }
}
