"""Baselines of a run: the records that slowdown and traffic compare with, for the table and its notes."""

from collections.abc import Iterator, Sequence

from casemate.schemas.run import Record, RunResults
from casemate.text import amounts


def in_row_names(results: RunResults, records: Sequence[Record]) -> str:
    """Returns the end of a row's name: " over " and the baseline of these records. It is a machine for one design on
    several machines; empty without a baseline, or with several.
    """
    compared = [record for record in records if not results.lacks_baseline(record)]
    by_machine = len({record.design for record in results.records}) == 1
    found = map(results.baseline_of, compared)
    names = {baseline.machine if by_machine else baseline.design for baseline in found}
    return f" over {names.pop()}" if len(names) == 1 else ""


def how_compared(results: RunResults, verbose: bool) -> Iterator[str]:
    """Yields notes on the baselines of slowdowns if there are several machines, on designs without a baseline, and on
    cycles that do not add up to slowdowns.
    """
    machines = list(dict.fromkeys(record.machine for record in results.records))
    if len(machines) > 1:
        baselines = [results.baseline_of(record) for record in results.records]
        if any(record is not baselines[0] for record in baselines):
            yield "Each slowdown is against the baseline on the same machine, not against another machine."
        else:
            yield f"Each slowdown is against {baselines[0].design} on {machines[0]}."
    for record in filter(results.lacks_baseline, results.records):
        where = f" on {record.machine}" if len(machines) > 1 else ""
        second = "a second --design" if record.design == "none" else "--design none"
        yield f"No slowdown{where}: {record.design} has no baseline. Add {second} to compare time and traffic."
    if verbose and any(len(record.cores) > 1 for record in results.records):
        yield (
            "Cycles for each instruction are sums over all cores, so they do not add up to the slowdown: it compares "
            "the times until the last core has ended."
        )


def not_comparable(results: RunResults) -> list[str]:
    """Returns notes on records that do not cover the instructions of their baseline."""
    lines = []
    for record in results.records:
        if not results.is_comparable(record):
            baseline = results.baseline_of(record)
            executed = f"{amounts.count(record.feed.instructions)} instructions"
            those = f"{baseline.design} {amounts.count(baseline.feed.instructions)}"
            lines.append(f"{record.design} executed {executed} and {those}: their results cannot be compared.")
    return lines
