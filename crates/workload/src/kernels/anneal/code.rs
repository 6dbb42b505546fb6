//! Static code of the annealer, in memory order.
//!
//! R12 and R13 are the pair, RSI and RDI their locations. RBX points to the elements, and R8 is their number. RCX is
//! the current pin, and R9 the end of the pins. RBP is the difference. R14 is the state of the random numbers, and R10
//! and R11 are the multipliers that mix it. R15 counts the remaining swaps. A vector register holds both coordinates of
//! a location, and its operations compute on both at once.

use super::super::emitter::Emitter;
use super::super::listing::{Listing, reg::*};
use super::SERIES;
use crate::stream::BlockId;
use isa::Reg;

const OLD: Reg = xmm(0);
const NEW: Reg = xmm(1);
const SUM: Reg = xmm(2);
const THERE: Reg = xmm(3);
const SPARE: Reg = xmm(4);
const TEMPERATURE: Reg = xmm(5);
const CONSTANT: Reg = xmm(6);

pub struct AnnealCode {
    pub enter: BlockId,
    pub temperature: BlockId,
    pub turn: BlockId,
    pub draw: BlockId,
    pub ask_one: BlockId,
    pub ask_other: BlockId,
    pub decide: BlockId,
    pub weigh: BlockId,
    pub swap: BlockId,
    pub next: BlockId,
    pub cool: BlockId,
    pub cost: BlockId,
    pub pin: BlockId,
    pub cost_end: BlockId,
}

impl AnnealCode {
    pub fn declare(emit: &mut Emitter) -> AnnealCode {
        let ask_one =
            Listing::new().load(8, RSI, &[R12]).load(8, RDI, &[R13]).load(8, OLD, &[RSI]).load(8, NEW, &[RDI]);
        let exchanged = Listing::new().fp_add(SPARE, &[OLD]).fp_add(OLD, &[NEW]).fp_add(NEW, &[SPARE]);
        let decide = Listing::new().fp_add(SPARE, &[SUM]).fp_add(SUM, &[SUM, SPARE]).lea(RBP, &[SUM]);
        let cool = Listing::new().fp_div(TEMPERATURE, &[TEMPERATURE, CONSTANT]);
        let cool = cool.fp_add(TEMPERATURE, &[TEMPERATURE, CONSTANT]).update(8, &[], &[RSP]);
        AnnealCode {
            enter: emit.declare(drawn(Listing::new().store(8, &[RAX], &[RSP]))),
            temperature: emit.declare(Listing::new().lea(R15, &[])),
            turn: emit.declare(Listing::new().lea(R12, &[R13])),
            draw: emit.declare(drawn(Listing::new()).compare(&[R12, R13]).branch()),
            ask_one: emit.declare(ask_one.fp_add(SUM, &[]).lea(RAX, &[R12]).call()),
            ask_other: emit.declare(exchanged.lea(RAX, &[R13]).call()),
            decide: emit.declare(decide.compare(&[RBP]).branch()),
            weigh: emit.declare(weigh()),
            swap: emit.declare(Listing::new().store(8, &[RDI], &[R12]).store(8, &[RSI], &[R13])),
            next: emit.declare(Listing::new().alu(R15, &[R15]).branch()),
            cool: emit.declare(cool.branch()),
            cost: emit.declare({
                let code = Listing::new().load(8, RCX, &[RAX]).load(8, R9, &[RAX]);
                code.compare(&[RCX, R9]).branch()
            }),
            pin: emit.declare(pin()),
            cost_end: emit.declare(Listing::new().ret()),
        }
    }
}

/// Computes the next random word in RAX.
fn random(code: Listing) -> Listing {
    code.alu(R14, &[R14]).lea(RAX, &[R14]).mix(RAX, RDX, [R10, R11])
}

/// Draws a random element into R13.
fn drawn(code: Listing) -> Listing {
    random(code).mul(RAX, &[RAX, R8]).alu(RAX, &[RAX]).lea(R13, &[RAX, RBX])
}

/// Adds the distance of a neighbour from the new location, and subtracts its distance from the old one.
fn pin() -> Listing {
    let code = Listing::new().load(8, RAX, &[RCX]).load(8, RAX, &[RAX]).load(8, THERE, &[RAX]);
    let code = code.fp_add(SPARE, &[THERE]).fp_add(THERE, &[THERE, NEW]).fp_add(THERE, &[THERE]);
    let code = code.fp_add(SPARE, &[SPARE, OLD]).fp_add(SPARE, &[SPARE]).fp_add(SUM, &[SUM, THERE]);
    code.fp_add(SUM, &[SUM, SPARE]).count_up(RCX, R9)
}

/// Draws a number from zero to one, and compares it with the probability of the difference.
fn weigh() -> Listing {
    const NUMBER: Reg = OLD;
    const LOSS: Reg = NEW;
    let code = random(Listing::new()).alu(RAX, &[RAX]).fp_add(NUMBER, &[RAX]).fp_mul(NUMBER, &[NUMBER, CONSTANT]);
    let code = code.fp_add(LOSS, &[RBP]).fp_div(LOSS, &[LOSS, TEMPERATURE]).fp_mul(LOSS, &[LOSS, CONSTANT]);
    // Computes the minimum, its whole part as an integer and as a double, and the fraction.
    let code = code.fp_add(LOSS, &[LOSS, CONSTANT]).fp_add(RAX, &[LOSS]).fp_add(SPARE, &[RAX]);
    let code = code.fp_add(SPARE, &[SPARE, LOSS]).fp_mul(SPARE, &[SPARE, CONSTANT]).fp_add(SUM, &[CONSTANT]);
    let step = |code: Listing, _: &f64| code.fp_mul(SUM, &[SUM, SPARE]).fp_add(SUM, &[SUM, CONSTANT]);
    let code = SERIES[1..].iter().fold(code, step);
    let code = code.alu(RAX, &[RAX]).alu(RAX, &[RAX]).fp_add(SPARE, &[RAX]).fp_mul(SUM, &[SUM, SPARE]);
    code.compare(&[SUM, NUMBER]).branch()
}
