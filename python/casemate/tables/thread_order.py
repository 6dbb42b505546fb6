"""Threads on several cores: their order is not that of the recording, and so some figures are not the program's."""

from collections.abc import Sequence

from casemate.schemas.run import Record, RunResults
from casemate.tables.run_details import Question
from casemate.text import amounts

MARK = " (!)"
"""Mark of figures of threads that ran in another order than recorded."""


def stated(record: Record) -> list[str]:
    """Returns a line about the order of threads, if the program has several."""
    if record.feed.threads == 1 or record.configuration.beside:
        return []
    order = "their waits are not simulated" if record.has_several_strands else "in the order of the recording"
    return [f"{amounts.counted(record.feed.threads, 'thread')}; {order}"]


def from_outside(results: RunResults) -> list[Question]:
    """Number of lines that changed without a store of the program, if threads ran on several cores."""
    if not any(record.has_several_strands for record in results.records):
        return []
    return [("lines changed from outside", lambda record: amounts.count(record.feed.foreign_writes))]


def reasons(records: Sequence[Record]) -> list[str]:
    """Returns the reason why figures are marked, for each record with marked figures."""
    lines = []
    for record in records:
        if record.is_disordered:
            share = 100 * record.feed.foreign_writes / max(record.checks.lines.lines_checked, 1)
            changed = (
                f"{amounts.count(record.feed.foreign_writes)} lines changed from outside, {share:.0f} % of those read"
            )
            lines.append(
                f"{MARK.strip()} {record.design}: {changed}. The simulated cores do not wait for each other as the "
                "threads did, so slowdown and traffic are not those of the program: compare designs on one core."
            )
    return lines
