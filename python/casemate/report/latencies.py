"""Percentiles of the read latency of each run, from the histogram in its record: rows have no column for most of them.
The latencies of a bucket count as evenly spread over it, as in the percentiles of the record itself.
"""

from collections.abc import Iterator

from casemate.report.figure import Measure

PERMILLES = {"p10": 100, "p50": 500, "p90": 900, "p99": 990, "p999": 999}
"""Shares of the reads, by the end of the name of their column."""
HISTOGRAM = "json_extract(record, '$.reads.histogram')::BIGINT[][]"
"""Buckets of a record in SQL, each with its end in femtoseconds and its number of reads."""
FIRST_END = 2**20 + 2**15
"""End of the first bucket, which begins at zero."""
WIDTH = f"CASE WHEN upper = {FIRST_END} THEN upper ELSE pow(2, floor(log2(upper - 1)) - 5)::BIGINT END"
"""Width of a bucket in SQL: an octave has 32 buckets."""

MEASURES = tuple(
    Measure(f"latency_{name}", f"{permille / 10:g} % within (ns)", f"r.latency_{name}", 1)
    for name, permille in PERMILLES.items()
)
"""Latencies that these shares of the reads do not exceed, in nanoseconds."""
COLUMNS = frozenset(each.name for each in MEASURES)


def joined(columns: frozenset[str], shown: str) -> str:
    """Returns a clause in SQL that adds the percentiles to the rows of `runs`; empty for rows without records."""
    if not has_records(columns):
        return ""
    buckets = f"SELECT point, unnest({HISTOGRAM}) AS bucket FROM runs WHERE {shown}"
    columns_of_buckets = (
        f"SELECT point, bucket[1] AS upper, bucket[2] AS lines, {WIDTH} AS width, "
        "sum(lines) OVER (PARTITION BY point) AS total, "
        f"sum(lines) OVER (PARTITION BY point ORDER BY upper) AS reached FROM ({buckets})"
    )
    found = f"SELECT point, {', '.join(_percentiles())} FROM ({columns_of_buckets}) GROUP BY point"
    return f"LEFT JOIN ({found}) USING (point)"


def has_records(columns: frozenset[str]) -> bool:
    """Returns true if the results have a histogram for runs with reads."""
    return {"record", "reads_median_ns"} <= columns


def _percentiles() -> Iterator[str]:
    for name, permille in PERMILLES.items():
        wanted = f"((total * {permille} + 999) // 1000)"
        before = "(reached - lines)"
        latency = f"upper - width + (2 * ({wanted} - {before}) - 1) * width // (2 * lines)"
        yield f"min({latency}) FILTER ({before} < {wanted} AND {wanted} <= reached) / 1e6 AS latency_{name}"
