"""`casemate results`: look at the rows of studies and of stored records."""

from pathlib import Path
from typing import Any

import click

from casemate.terminal import screen

EPILOG = """\b
Examples:
  casemate results results/caches
  casemate results results/caches --where "design = 'sc64-bmt' AND machine_llc_size_bytes > 2e6"
  casemate results results/caches --columns program,design,machine.llc.ways,ipc --csv
  casemate results results/caches --list-columns     the names of all columns
  casemate results results/caches --sql "SELECT design, avg(ipc) FROM runs GROUP BY design"
  casemate results results/caches --failed           points that failed, with their error and command
  casemate results results/caches --record 3fa9c1    the JSON record of one point
  casemate results records/                          records of `casemate run --output records/`

\b
The tables in SQL are runs, attacks, crashes and failed. A column is a field of the record, or a key of the machine or
the design, with `_` in place of `.` and the unit at the end; sizes are in bytes. The command changes nothing.
"""


@click.command("results", epilog=EPILOG)
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIRECTORY")
@click.option("--where", metavar="SQL", help="Only rows that meet this condition.")
@click.option("--columns", metavar="NAME,...", help="These columns in place of the usual ones.")
@click.option("--kind", type=click.Choice(["run", "attack", "crash"]), help="Kind of points.  [default: run, if any]")
@click.option("--failed", is_flag=True, help="The points that failed.")
@click.option("--sql", metavar="SQL", help="Any question over the tables.")
@click.option("--record", metavar="POINT", help="Print the JSON record of the point whose hash begins so.")
@click.option("--list-columns", is_flag=True, help="Print the names of all columns.")
@click.option("--all", "every_study", is_flag=True, help="Also points of earlier forms of the study.")
@click.option("--version", metavar="VERSION", help="Rows of another version of Casemate.")
@click.option("--csv", "as_csv", is_flag=True, help="Print the rows as CSV.")
@screen.as_json
@click.pass_context
def command(context: click.Context, /, folder: Path, as_csv: bool, as_json: bool, **requested: Any) -> None:
    """Show the rows of a study, or of records that `casemate run` wrote."""
    from casemate.studies.query import Results

    exclusive = [name for name in ("failed", "sql", "record", "list_columns", "kind") if requested[name]]
    if len(exclusive) > 1:
        first, second = (f"--{name.replace('_', '-')}" for name in exclusive[:2])
        raise click.UsageError(f"{first} and {second} exclude each other", context)
    if as_csv and as_json:
        raise click.UsageError("--csv and --json exclude each other", context)
    found = Results(folder, requested["version"], requested["every_study"])
    for notice in found.notices:
        screen.notices().print(notice, markup=False)
    if requested["record"]:
        click.echo(found.record(requested["record"]))
    elif requested["list_columns"]:
        click.echo("\n".join(found.columns()))
    else:
        _print(_rows(found, requested), as_csv, as_json)
        failed = sum(count for (_, status), count in found.counts().items() if status == "failed")
        if failed and not requested["failed"]:
            screen.notices().print(f"{failed:,} points failed: --failed shows them", markup=False)


def _rows(found: Any, requested: dict[str, Any]) -> Any:
    if requested["sql"]:
        return found.sql(requested["sql"])
    columns = [name for name in (requested["columns"] or "").split(",") if name.strip()]
    if requested["failed"]:
        return found.failed(requested["where"], columns)
    kind = requested["kind"] or next((kind for kind, status in found.counts() if status == "done"), "run")
    return found.select(kind, requested["where"], columns)


def _plain(value: Any) -> Any:
    """Returns a value as JSON can contain it; values of further types of SQL become text."""
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _print(answer: Any, as_csv: bool, as_json: bool) -> None:
    rows = answer.rows()
    if as_json:
        from casemate.schemas.sweep import Rows

        screen.print_json(Rows(rows=tuple(dict(zip(answer.names, map(_plain, row), strict=True)) for row in rows)))
        return
    from casemate.tables import rows_table

    if as_csv:
        click.echo(rows_table.csv_text(answer.names, rows), nl=False)
    else:
        screen.results().print(rows_table.rows_table(answer.names, rows))
        if not rows:
            screen.notices().print("no rows", markup=False)
