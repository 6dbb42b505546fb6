//! Simulated annealing of a chip's placement: random pairs of elements swap locations if the swap makes their nets
//! shorter.
//!
//! Source: canneal of PARSEC (Bienia, Kumar, Singh and Li, PACT 2008), one thread of it. An element points to its
//! neighbours and to its location, as in canneal. Each net of a pair therefore requires three loads; each of the last
//! two depends on the previous load. The second element of a pair is the first element of the next pair. The length of
//! a net between the two elements is computed as if only one of them moved. The kernel accepts longer nets with the
//! probability of Metropolis et al., 1953; the temperature falls by a third after a fixed number of pairs. The netlist
//! is random: each element receives the same number of nets from other elements.

mod code;

use super::KernelInfo;
use super::arena::{Array, ValueAddress};
use super::emitter::{ClosedStream, Emitter};
use super::parameters::{LOAD_VALUES, Parameter, ParameterKind, SKIP, Settings};
use super::program::Program;
use code::AnnealCode;
use std::f64::consts::{LN_2, LOG2_E};
use units::random::Random;

/// Number of words of an element: begin and end of its pins, its location, and an unused one.
const ELEMENT_WORDS: u64 = 4;
const PINS_END: u64 = 8;
const LOCATION: u64 = 16;
/// Divisor of the temperature at each step.
const COOLING: f64 = 1.5;
/// Coefficients of the series of `exp(-x)`, to more than six digits for an `x` from zero to ln 2. The library's
/// function may differ between machines.
const SERIES: [f64; 9] =
    [1.0, -1.0, 1.0 / 2.0, -1.0 / 6.0, 1.0 / 24.0, -1.0 / 120.0, 1.0 / 720.0, -1.0 / 5040.0, 1.0 / 40320.0];

pub(super) const INFO: KernelInfo = KernelInfo {
    name: "anneal",
    summary: "simulated annealing of a netlist, like canneal: chains of dependent loads all over memory, few stores",
    parameters: &[
        Parameter {
            name: "elements",
            kind: ParameterKind::Count { unit: "elements", min: 2, max: 100_000_000 },
            default: "500_000",
            summary: "elements on the chip; half a million with five nets take 57 MB",
        },
        Parameter {
            name: "nets",
            kind: ParameterKind::Count { unit: "nets", min: 1, max: 64 },
            default: "5",
            summary: "nets that enter each element; as many leave it, on average",
        },
        Parameter {
            name: "swaps",
            kind: ParameterKind::Count { unit: "swaps", min: 1, max: u64::MAX },
            default: "15_000",
            summary: "swaps tried at each temperature",
        },
        Parameter {
            name: "temperatures",
            kind: ParameterKind::Count { unit: "temperatures", min: 1, max: u64::MAX },
            default: "6_000",
            summary: "temperatures in all, each two thirds of the last",
        },
        Parameter {
            name: "start",
            kind: ParameterKind::Count { unit: "grid steps", min: 1, max: 1_000_000 },
            default: "2_000",
            summary: "the first temperature, in lengths of net",
        },
        SKIP,
        LOAD_VALUES,
    ],
    prepare: |settings| Box::new(Anneal::new(settings)),
};

struct Anneal {
    elements: u64,
    nets: u64,
    swaps: u64,
    temperatures: u64,
    start: f64,
}

/// Input that the program would have read from a file.
struct Netlist {
    /// Other ends of each element's nets: first of the nets that it receives, then of those that it sends.
    pins: Vec<Vec<u32>>,
    /// Initial location of each element.
    places: Vec<u32>,
}

/// Addresses of the data in memory.
#[derive(Clone, Copy)]
struct AnnealArrays {
    elements: Array<u64>,
    /// Stack slot of a return address, and above it that of a local variable.
    stack: Array<u64>,
}

impl Netlist {
    fn draw(elements: u64, nets: u64, random: &mut Random) -> Netlist {
        let mut pins = vec![Vec::new(); elements as usize];
        for own in &mut pins {
            own.extend((0..nets).map(|_| random.below(elements - 1) as u32));
        }
        for (element, own) in (0..).zip(&mut pins) {
            // An element sends no net to itself.
            own.iter_mut().filter(|other| **other >= element).for_each(|other| *other += 1);
        }
        for element in 0..elements as usize {
            for net in 0..nets as usize {
                let from = pins[element][net] as usize;
                pins[from].push(element as u32);
            }
        }
        let mut places: Vec<u32> = (0..elements as u32).collect();
        random.shuffle(&mut places);
        Netlist { pins, places }
    }
}

impl Anneal {
    fn new(settings: &Settings) -> Anneal {
        Anneal {
            elements: settings.number("elements"),
            nets: settings.number("nets"),
            swaps: settings.number("swaps"),
            temperatures: settings.number("temperatures"),
            start: settings.number("start") as f64,
        }
    }

    fn allocate(&self, emit: &mut Emitter, random: &mut Random) -> AnnealArrays {
        let chip = AnnealArrays { elements: emit.array(ELEMENT_WORDS * self.elements), stack: emit.array(8) };
        let pins: Array<u64> = emit.array(2 * self.nets * self.elements);
        let locations: Array<u64> = emit.array(self.elements);
        let side = side(self.elements);
        for cell in 0..self.elements {
            emit.poke(locations.at(cell), ((cell / side) << 32) | (cell % side));
        }
        let netlist = Netlist::draw(self.elements, self.nets, random);
        let mut pin = 0;
        for (element, (others, cell)) in netlist.pins.iter().zip(netlist.places).enumerate() {
            let element = self.element(chip, element as u64);
            emit.poke(ValueAddress::at(element), pins.at(pin).addr);
            for other in others {
                emit.poke(pins.at(pin), self.element(chip, u64::from(*other)));
                pin += 1;
            }
            emit.poke(ValueAddress::at(element + PINS_END), pins.at(pin).addr);
            emit.poke(ValueAddress::at(element + LOCATION), locations.at(u64::from(cell)).addr);
        }
        chip
    }

    fn element(&self, chip: AnnealArrays, number: u64) -> u64 {
        chip.elements.at(ELEMENT_WORDS * number).addr
    }

    /// Change in the length of the nets of `element` if it moves from `old` to `new`.
    fn cost(
        &self,
        emit: &mut Emitter,
        code: &AnnealCode,
        element: u64,
        [old, new]: [u64; 2],
        return_address: ValueAddress<u64>,
    ) -> Result<i64, ClosedStream> {
        emit.block(code.cost)?;
        let mut pin: u64 = emit.load(ValueAddress::at(element));
        let end: u64 = emit.load(ValueAddress::at(element + PINS_END));
        let mut difference = 0;
        while pin < end {
            emit.block(code.pin)?;
            let other: u64 = emit.load(ValueAddress::at(pin));
            let location: u64 = emit.load(ValueAddress::at(other + LOCATION));
            let there = emit.load(ValueAddress::at(location));
            difference += distance(there, new) - distance(there, old);
            pin += 8;
        }
        emit.block(code.cost_end)?;
        emit.load(return_address);
        Ok(difference)
    }

    /// Swaps the locations of `one` and `other` if the criterion accepts the swap at this temperature.
    fn swap(
        &self,
        emit: &mut Emitter,
        code: &AnnealCode,
        chip: AnnealArrays,
        [one, other]: [u64; 2],
        temperature: f64,
        random: &mut Random,
    ) -> Result<(), ClosedStream> {
        let places = [one, other].map(|element| ValueAddress::<u64>::at(element + LOCATION));
        let return_address = chip.stack.at(0);
        emit.block(code.ask_one)?;
        let locations = places.map(|cell| emit.load(cell));
        let [here, there] = locations.map(|location| emit.load(ValueAddress::at(location)));
        emit.store(return_address, emit.end_of(code.ask_one));
        let mut difference = self.cost(emit, code, one, [here, there], return_address)?;
        emit.block(code.ask_other)?;
        emit.store(return_address, emit.end_of(code.ask_other));
        difference += self.cost(emit, code, other, [there, here], return_address)?;
        emit.block(code.decide)?;
        let accepted = difference < 0 || {
            emit.block(code.weigh)?;
            random.unit() < probability(difference as f64 / temperature)
        };
        if accepted {
            emit.block(code.swap)?;
            emit.store(places[0], locations[1]);
            emit.store(places[1], locations[0]);
        }
        emit.block(code.next)
    }

    /// Total length of all nets.
    fn total(&self, emit: &Emitter, chip: AnnealArrays) -> u64 {
        let read = |address: u64| emit.peek(ValueAddress::<u64>::at(address));
        let location = |element: u64| read(read(element + LOCATION));
        let nets = (0..self.elements).map(|number| self.element(chip, number)).map(|element| {
            let pins = (read(element)..read(element + PINS_END)).step_by(8);
            pins.take(self.nets as usize)
                .map(|pin| distance(location(read(pin)), location(element)) as u64)
                .sum::<u64>()
        });
        nets.sum()
    }
}

/// Side length of the square that holds this number of elements.
fn side(elements: u64) -> u64 {
    let root = elements.isqrt();
    if root * root < elements { root + 1 } else { root }
}

/// Distance between two locations, each with its row in the upper half and its column in the lower half.
fn distance(one: u64, other: u64) -> i64 {
    let between = |one: u64, other: u64| i64::from((one as u32).abs_diff(other as u32));
    between(one, other) + between(one >> 32, other >> 32)
}

/// Computes `exp(-loss)` for a `loss` that is not negative: a power of two times a series.
fn probability(loss: f64) -> f64 {
    let halvings = (loss * LOG2_E).min(1022.0);
    let whole = halvings as u64;
    let rest = (halvings - whole as f64) * LN_2;
    SERIES.iter().rev().fold(0.0, |sum, factor| sum * rest + factor) * f64::from_bits((1023 - whole) << 52)
}

impl Program for Anneal {
    fn arena_bytes(&self) -> u64 {
        let (stack, line_ends) = (64, 3 * 64);
        8 * self.elements * (ELEMENT_WORDS + 2 * self.nets + 1) + stack + line_ends
    }

    fn run(&self, emit: &mut Emitter, random: &mut Random) -> Result<u64, ClosedStream> {
        let code = AnnealCode::declare(emit);
        let chip = self.allocate(emit, random);
        let temperatures_left = chip.stack.at(1);
        emit.block(code.enter)?;
        emit.store(temperatures_left, self.temperatures);
        let mut other = self.element(chip, random.below(self.elements));
        let mut temperature = self.start;
        let mut left = self.temperatures;
        while left > 0 {
            emit.block(code.temperature)?;
            for _ in 0..self.swaps {
                let one = other;
                emit.block(code.turn)?;
                while other == one {
                    emit.block(code.draw)?;
                    other = self.element(chip, random.below(self.elements));
                }
                self.swap(emit, &code, chip, [one, other], temperature, random)?;
            }
            emit.block(code.cool)?;
            left = emit.update(temperatures_left, |left| left - 1);
            temperature = (temperature / COOLING).max(f64::MIN_POSITIVE);
        }
        Ok(self.total(emit, chip))
    }
}

#[cfg(test)]
mod tests;
