//! Lines of the text traces of DRAM simulators.
//!
//! | form | a line | source |
//! |---|---|---|
//! | Ramulator, memory | `0x12345680 R`, `0x4cbd56c0 W` | Ramulator's README, "memory-trace driven" |
//! | Ramulator, load-store | `LD 0x12340`, `ST 4096` | `LoadStoreTrace` of Ramulator 2 |
//! | Ramulator, CPU | `3 20734016`, `6 20734208 20846400` | `SimpleO3` of Ramulator 2, Ramulator's README: instructions before a read, its address, and a line that is written back for it |
//! | DRAMsim3 | `0x2000D5C0 READ 30` | `TraceBasedCPU` of DRAMsim3: the address, and the memory clock of the request |
//!
//! The reader skips empty lines and lines that begin with `#`.

use serde::Serialize;
use wire::word::ADDRESS_END;

/// Form of all lines of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// Requests to memory, for Ramulator.
    RamulatorMemory,
    /// Loads and stores, for Ramulator 2.
    RamulatorLoadStore,
    /// Instructions with reads and write-backs, for Ramulator.
    RamulatorCpu,
    /// Requests with clocks, for DRAMsim3.
    Dramsim3,
}

/// Decoded line of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TraceLine {
    /// Address that the line reads.
    pub read: Option<u64>,
    /// Address that the line writes, after the read.
    pub write: Option<u64>,
    /// Earliest memory clock of the request, or number of instructions before it; zero if the form has neither.
    pub due: u64,
}

/// Words of DRAMsim3 for a write.
const WRITES: [&str; 4] = ["WRITE", "write", "P_MEM_WR", "BOFF"];
/// Words of DRAMsim3 for a read.
const READS: [&str; 4] = ["READ", "read", "P_MEM_RD", "P_FETCH"];

/// Limit of the numbers in a line other than addresses: a control word has room for any smaller number.
const DUE_END: u64 = 1 << 47;

impl Form {
    /// List of all forms.
    pub const ALL: [Form; 4] = [Form::RamulatorMemory, Form::RamulatorLoadStore, Form::RamulatorCpu, Form::Dramsim3];

    /// Returns the form of a line, if any form fits.
    pub fn of(line: &str) -> Option<Form> {
        Form::ALL.into_iter().find(|form| form.parse(line).is_ok())
    }

    /// Name of the form, for messages.
    pub fn name(self) -> &'static str {
        match self {
            Form::RamulatorMemory => "a memory trace of Ramulator",
            Form::RamulatorLoadStore => "a load-store trace of Ramulator",
            Form::RamulatorCpu => "a CPU trace of Ramulator",
            Form::Dramsim3 => "a trace of DRAMsim3",
        }
    }

    /// Syntax of a line, with an example.
    fn expected(self) -> &'static str {
        match self {
            Form::RamulatorMemory => "ADDRESS R|W, as in 0x12345680 R",
            Form::RamulatorLoadStore => "LD|ST ADDRESS, as in LD 0x12340",
            Form::RamulatorCpu => "INSTRUCTIONS READ [WRITEBACK], as in 3 20734016",
            Form::Dramsim3 => "ADDRESS READ|WRITE CLOCK, as in 0x2000D5C0 READ 30",
        }
    }

    /// Decodes a line of this form.
    ///
    /// # Errors
    /// Description of the expected line.
    pub fn parse(self, line: &str) -> Result<TraceLine, String> {
        self.entry(line).ok_or_else(|| format!("expected {}", self.expected()))
    }

    fn entry(self, line: &str) -> Option<TraceLine> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let of = |is_write: bool, address: u64, due| {
            let (read, write) = if is_write { (None, Some(address)) } else { (Some(address), None) };
            Some(TraceLine { read, write, due })
        };
        match (self, &words[..]) {
            (Form::RamulatorMemory, [address, kind @ ("R" | "W")]) => of(*kind == "W", number(address)?, 0),
            (Form::RamulatorLoadStore, [kind @ ("LD" | "ST"), address]) => of(*kind == "ST", number(address)?, 0),
            (Form::RamulatorCpu, [due, read, rest @ ..]) if rest.len() <= 1 => {
                let write = rest.first().map(|address| number(address)).map_or(Some(None), |given| given.map(Some))?;
                Some(TraceLine { read: Some(number(read)?), write, due: decimal(due)? })
            }
            (Form::Dramsim3, [address, kind, due]) if WRITES.contains(kind) || READS.contains(kind) => {
                of(WRITES.contains(kind), hexadecimal(address)?, decimal(due)?)
            }
            _ => None,
        }
    }
}

/// Parses an address: hexadecimal with the prefix `0x`, else decimal.
fn number(text: &str) -> Option<u64> {
    if text.starts_with("0x") || text.starts_with("0X") { hexadecimal(text) } else { decimal(text) }
}

/// Parses a hexadecimal address, with or without the prefix `0x`.
fn hexadecimal(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    let is_number = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u64::from_str_radix(digits, 16).ok().filter(|address| is_number && *address < ADDRESS_END)
}

/// Parses a decimal number without leading zeros: columns with leading zeros occur only in texts that are no traces.
fn decimal(text: &str) -> Option<u64> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|number| is_number && *number < DUE_END)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_each_simulator_are_recognised_and_parsed() {
        let read = |address, due| TraceLine { read: Some(address), write: None, due };
        let write = |address, due| TraceLine { read: None, write: Some(address), due };
        for (line, form, entry) in [
            ("0x12345680 R", Form::RamulatorMemory, read(0x1234_5680, 0)),
            ("4096 W", Form::RamulatorMemory, write(4096, 0)),
            ("LD 0x12340", Form::RamulatorLoadStore, read(0x12340, 0)),
            ("ST 4096", Form::RamulatorLoadStore, write(4096, 0)),
            ("3 20734016", Form::RamulatorCpu, read(20_734_016, 3)),
            ("0 64", Form::RamulatorCpu, read(64, 0)),
            ("6 64 0x80", Form::RamulatorCpu, TraceLine { read: Some(64), write: Some(128), due: 6 }),
            ("0x2000D5C0 READ  30", Form::Dramsim3, read(0x2000_d5c0, 30)),
            ("1FF96FC0 WRITE\t160", Form::Dramsim3, write(0x1ff9_6fc0, 160)),
        ] {
            assert_eq!((Form::of(line), form.parse(line)), (Some(form), Ok(entry)), "{line}");
        }
    }

    #[test]
    fn text_lines_outside_all_request_trace_formats_are_not_recognised() {
        for line in [
            "",
            "17",
            "R 0,1,2,100,32",
            "0x40 r",
            "LD",
            "LD 0x",
            "LD +4",
            "ld 0x40",
            "1 2 3 4",
            "-1 64",
            "1.5 64",
            "0000001 11003072",
            "0x40 READ",
            "0x40 READ -1",
            "0x40 FETCH 1",
            "0x800000000000 R",
            "some words",
            "x y z",
        ] {
            assert_eq!(Form::of(line), None, "{line}");
        }
    }
}
