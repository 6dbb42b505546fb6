"""The reasons of a run's verdict: each difference between recorded and simulated values, and each failed check."""

from collections.abc import Iterator, Sequence

from casemate.schemas.checks import LoadValues, NotCompared, WrongLoad
from casemate.schemas.origin import Exited, Killed
from casemate.schemas.run import Record
from casemate.text import amounts

VALUES_SHOWN = 3
"""Maximum number of differing loads that are listed with their addresses, for each design."""


def lines(records: Sequence[Record], check_values: bool) -> Iterator[tuple[str, str]]:
    """Yields each reason as a sentence with its style: values not compared, differing load values, failed checks."""
    first = records[0]
    for program in first.checks.not_compared if check_values else ():
        whose = f" of {program.program}" if first.configuration.beside else ""
        yield f"Not checked: no load values{whose} were compared: {_why_not_compared(first, program)}.", "yellow"
    for record in records:
        if not record.checks.lines.lines_checked and not record.checks.false_alarm:
            yield f"Not checked: under {record.design} no line was read from memory and compared.", "yellow"
        yield from _values(record)
        yield from ((f"{record.design}: {reason}.", "red") for reason in _failures(record))


def _values(record: Record) -> Iterator[tuple[str, str]]:
    values = record.checks.load_values
    if values is None or values.verdict == "same":
        return
    who = f"{amounts.counted(values.threads, 'thread')} in {amounts.counted(values.processes, 'process')}"
    loads = f"{amounts.count(values.different)} of {amounts.count(values.compared)} loads"
    if values.verdict == "other-order":
        yield (
            f"{record.design}: {loads} had another value than recorded ({who}). Each is of a line that another thread "
            "or process stored to in an order that the recording does not state or that the simulation changed.",
            "yellow",
        )
    else:
        unexplained = amounts.count(values.different - values.in_other_order)
        yield (
            f"{record.design}: {loads} had another value than recorded ({who}). The order of threads and processes "
            f"does not explain {unexplained} of them: these are errors of the recording or of the simulation.",
            "red",
        )
    yield from ((f"  first: {_where(values, wrong)}", "dim") for wrong in values.first[:VALUES_SHOWN])


def _failures(record: Record) -> Iterator[str]:
    """Every reason for a failed check of a run, except load values."""
    checks = record.checks
    if checks.false_alarm:
        [(kind, number)] = checks.false_alarm.items()
        yield f"the design reported tampering ({kind} at {number:#x}), though there was no attacker"
    if checks.lines.lines_wrong:
        yield f"memory returned {amounts.counted(checks.lines.lines_wrong, 'line')} with other bytes than were written"
    if checks.lines_lost:
        yield f"{amounts.counted(checks.lines_lost, 'line')} lost stores: neither memory nor a cache has the latest"
    moving = record.moving
    if moving and moving.twice:
        yield f"{amounts.counted(moving.twice, 'slot')} crossed the bus a second time between two permutations"
    if moving and moving.incomplete:
        yield f"{amounts.counted(moving.incomplete, 'permutation')} did not read and write every slot once"
    if checks.lines_stranded:
        yield f"the chip had {amounts.counted(checks.lines_stranded, 'line')} as ciphertext only"
    if checks.pad_reused:
        yield "a pad encrypted two different texts"
    if checks.candidates and checks.candidates.disagreeing:
        disagreeing = amounts.counted(checks.candidates.disagreeing, "chunk")
        yield f"{disagreeing} matched other candidates than an encryption of all candidates gives"


def _why_not_compared(record: Record, program: NotCompared) -> str:
    """Returns the reason that no load value of a program could be compared, and the remedy."""
    match program.reason:
        case "drawn":
            return "the trace has no values, and this run draws them from its seed"
        case "not-recorded":
            return "the trace was recorded without them; record it with `casemate record --check-values`"
        case "nothing-loaded":
            ended = isinstance(record.configuration.workload.finish, Exited | Killed)
            way = "" if ended else "; run more, with a higher --limit"
            return f"the program executed no load in the part that was run{way}"


def _where(values: LoadValues, wrong: WrongLoad) -> str:
    at = f"{wrong.bytes} bytes at {wrong.address:#x}, by the instruction at {wrong.pc:#x}"
    return f"{at} (process {wrong.process}, thread {wrong.thread})" if values.threads > 1 else at
