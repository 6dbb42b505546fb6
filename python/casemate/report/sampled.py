"""Ratios of sampled runs: both runs measured the same units, so a ratio has an interval without further seeds."""

import json
from collections.abc import Iterator
from typing import Literal

from casemate.report.reading import Rows, Source
from casemate.schemas.sampling import Sampling, ratio

RATIOS: dict[str, Literal["time_fs", "dram_bytes"]] = {"slowdown": "time_fs", "traffic": "dram_bytes"}
"""Figures that compare units, by the measure of the page."""
AT_ONCE = 500
"""Number of records that are read at once."""


def compare(source: Source, rows: Rows) -> None:
    """Replaces the ratios of sampled runs by those over the units that a run and its baseline measured, and adds half
    of their 95 % intervals.
    """
    if not {"detail_sampled_unit", "record"} <= source.columns:
        return
    wanted = [row for row in rows if row["baseline_point"]]
    samples = dict(_samples(source, sorted({row[name] for row in wanted for name in ("point", "baseline_point")})))
    for row in wanted:
        above, below = samples.get(row["point"]), samples.get(row["baseline_point"])
        for measure, figure in RATIOS.items():
            found = ratio(above, below, figure) if above and below else None
            row[f"{measure}_half"] = (found.high - found.low) / 2 if found else None
            row[measure] = found.value if found else row[measure]


def _samples(source: Source, points: list[str]) -> Iterator[tuple[str, Sampling]]:
    """Yields the samples of sampled runs, by point."""
    for start in range(0, len(points), AT_ONCE):
        listed = ", ".join(f"'{point}'" for point in points[start : start + AT_ONCE])
        sampled = f"detail_sampled_unit IS NOT NULL AND point IN ({listed})"
        for row in source.ask(f"SELECT point, record FROM runs WHERE {sampled}"):
            yield row["point"], Sampling.model_validate_json(json.dumps(json.loads(row["record"])["sampling"]))
