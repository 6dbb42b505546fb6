//! A log in persistent memory: records with a checksum, each committed by one word when it is durable.
//!
//! ```text
//! store the record ─ flush its lines ─ fence ─ store the commit word ─ flush ─ fence
//! ```
//! The region has two halves. If a record does not fit into the current half, the log continues in the other one. The
//! first commit word that names the other half makes all records of the old half obsolete at once.
//!
//! A parameter selects a wrong order on purpose: a campaign must find the error, unless the machine hides it.

mod code;
mod layout;
mod recovery;

use super::KernelInfo;
use super::arena::ValueAddress;
use super::durable::Recovery;
use super::emitter::{ClosedStream, Emitter};
use super::parameters::{LOAD_VALUES, Parameter, ParameterKind, SKIP, Settings, repeated};
use super::program::Program;
use code::LogCode;
use layout::{CommitWord, FRAME_WORDS, LogHalves, REGION_OFFSET, header};
use recovery::LogRecovery;
use std::ops::Range;
use units::random::{Random, mix, scale_below};
use units::{Bytes, LINE_BYTES};

/// FNV-1a over words: the checksum of an empty record, and the multiplier for each word.
const CHECKSUM_START: u64 = 0xcbf2_9ce4_8422_2325;
const CHECKSUM_PRIME: u64 = 0x0100_0000_01b3;

pub(super) const INFO: KernelInfo = KernelInfo {
    name: "log",
    summary: "a persistent log: records with a checksum, flushed and fenced before the word that commits them",
    parameters: &[
        Parameter {
            name: "footprint",
            kind: ParameterKind::Size { min: Bytes(4 << 10), max: Bytes(4 << 30) },
            default: "1 MB",
            summary: "memory of the records, in two halves that they fill in turn",
        },
        Parameter {
            name: "longest",
            kind: ParameterKind::Count { unit: "words", min: 1, max: 128 },
            default: "24",
            summary: "the most words of a record; the number varies by record",
        },
        repeated("records", "records that are appended, one after the other"),
        Parameter {
            name: "order",
            kind: ParameterKind::Choice(&["record-first", "commit-first", "unfenced"]),
            default: "record-first",
            summary: "the commit word after its record is durable; or, wrongly, before; or without any flush or fence",
        },
        SKIP,
        LOAD_VALUES,
    ],
    prepare: |settings| Box::new(Log::new(settings)),
};

/// Order of the stores of a record and of its commit word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CommitOrder {
    RecordFirst,
    CommitFirst,
    Unfenced,
}

struct Log {
    halves: LogHalves,
    records: u64,
    longest: u64,
    order: CommitOrder,
}

/// Records that the log must append.
#[derive(Clone, Copy)]
struct LogRecords {
    salt: u64,
    longest: u64,
}

impl LogRecords {
    fn length(self, number: u64) -> u64 {
        1 + scale_below(mix(self.salt ^ number), self.longest)
    }

    fn word(self, number: u64, index: u64) -> u64 {
        mix(self.salt ^ number << 8 ^ !index)
    }
}

impl Log {
    fn new(settings: &Settings) -> Log {
        Log {
            halves: LogHalves::of(settings.number("footprint")),
            records: settings.number("records"),
            longest: settings.number("longest"),
            order: match settings.word("order") {
                "commit-first" => CommitOrder::CommitFirst,
                "unfenced" => CommitOrder::Unfenced,
                _ => CommitOrder::RecordFirst,
            },
        }
    }

    fn expected_words(&self, random: &mut Random) -> LogRecords {
        LogRecords { salt: random.word(), longest: self.longest }
    }
}

impl Program for Log {
    fn arena_bytes(&self) -> u64 {
        REGION_OFFSET + self.halves.bytes()
    }

    fn run(&self, emit: &mut Emitter, random: &mut Random) -> Result<u64, ClosedStream> {
        let code = LogCode::declare(emit, self.order);
        let base = emit.array::<u64>(self.arena_bytes() / 8).at(0).addr;
        let records = self.expected_words(random);
        let mut writer = Writer { code, base, last: CommitWord::default(), sum: 0 };
        for number in 0..self.records {
            let length = records.length(number);
            emit.block(writer.code.choose)?;
            let at = self.halves.next(writer.last, length);
            if at.half != writer.last.half {
                emit.block(writer.code.turn)?;
            }
            let start = base + self.halves.offset(at);
            let commit = CommitWord { records: number + 1, words: at.words + length + FRAME_WORDS, ..at };
            if self.order == CommitOrder::CommitFirst {
                writer.commit(emit, commit)?;
                writer.append(emit, start, number, records)?;
            } else {
                writer.append(emit, start, number, records)?;
                writer.commit(emit, commit)?;
            }
            emit.block(writer.code.next)?;
        }
        Ok(writer.sum)
    }

    fn recovery(&self, base: u64, random: &mut Random) -> Option<Box<dyn Recovery>> {
        Some(Box::new(LogRecovery { base, halves: self.halves, records: self.expected_words(random) }))
    }
}

/// State of the program while it writes the log.
struct Writer {
    code: LogCode,
    base: u64,
    last: CommitWord,
    /// Sum of all checksums.
    sum: u64,
}

impl Writer {
    fn append(&mut self, emit: &mut Emitter, start: u64, number: u64, records: LogRecords) -> Result<(), ClosedStream> {
        let code = &self.code;
        let length = records.length(number);
        let word_at = |word: u64| ValueAddress::<u64>::at(start + 8 * word);
        let mut checksum = CHECKSUM_START;
        let mut take = |word: u64| {
            checksum = (checksum ^ word).wrapping_mul(CHECKSUM_PRIME);
            word
        };
        emit.block(code.header)?;
        emit.store(word_at(0), take(header(number, length)));
        for index in 0..length {
            emit.block(code.word)?;
            emit.store(word_at(1 + index), take(records.word(number, index)));
        }
        emit.block(code.checksum)?;
        emit.store(word_at(1 + length), checksum);
        self.sum = self.sum.wrapping_add(checksum);
        if let Some(durable) = &code.durable {
            for line in lines(start..start + 8 * (length + FRAME_WORDS)) {
                emit.block(durable.flush)?;
                emit.flush(line);
            }
            emit.block(durable.fence)?;
            emit.fence();
        }
        Ok(())
    }

    fn commit(&mut self, emit: &mut Emitter, commit: CommitWord) -> Result<(), ClosedStream> {
        emit.block(self.code.commit)?;
        emit.store(ValueAddress::<u64>::at(self.base), commit.word());
        if let Some(durable) = &self.code.durable {
            emit.block(durable.commit)?;
            emit.flush(self.base);
            emit.fence();
        }
        self.last = commit;
        Ok(())
    }
}

/// Returns the address of each line that contains one of these bytes.
fn lines(bytes: Range<u64>) -> impl Iterator<Item = u64> {
    let line = LINE_BYTES as u64;
    (bytes.start / line..bytes.end.div_ceil(line)).map(move |number| number * line)
}

#[cfg(test)]
mod tests {
    use super::super::testing::run;
    use super::*;

    #[test]
    fn the_log_kernel_has_two_fences_per_record_in_both_orders_and_none_unfenced() {
        let records = 300;
        let given = |order| [("footprint", "4 KB"), ("records", "300"), ("longest", "20"), ("order", order)];
        let [right, wrong, unfenced] =
            ["record-first", "commit-first", "unfenced"].map(|order| run(&INFO, &given(order), 5));
        assert_eq!((right.fences, wrong.fences, unfenced.fences), (2 * records, 2 * records, 0));
        assert!(right.flushes >= 2 * records && right.flushes == wrong.flushes && unfenced.flushes == 0);
        assert_eq!((right.stores, right.answer), (unfenced.stores, unfenced.answer));
        let words: u64 = {
            let expected = LogRecords { salt: Random::new(5).word(), longest: 20 };
            (0..records).map(|number| expected.length(number) + FRAME_WORDS + 1).sum()
        };
        assert_eq!(right.stores, words);
    }

    #[test]
    fn the_log_kernel_flushes_every_line_that_a_record_touches() {
        assert_eq!(lines(0x1000..0x1040).collect::<Vec<_>>(), [0x1000]);
        assert_eq!(lines(0x1038..0x1048).collect::<Vec<_>>(), [0x1000, 0x1040]);
    }
}
