"""`casemate report`: results as one page for a browser."""

from pathlib import Path

import click

from casemate.cli import options
from casemate.terminal import screen

EPILOG = """\b
Examples:
  casemate report results/caches -o caches.html
  casemate report results/caches -o gups.html --where "program = 'gups'"
  casemate report results/reproduce/emcc -o emcc.html    the paper's figures next to ours
  casemate report records/ -o run.html                   records of `casemate run --output records/`

\b
The page needs no network and no other file. It filters by design, program and machine, and each figure has a table and
downloads as SVG and CSV. docs/REPORT.md describes the figures.
"""


@click.command("report", epilog=EPILOG)
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIRECTORY")
@click.option(
    "-o", "--output", "path", type=options.file, metavar="FILE.html", required=True, help="The page to write."
)
@click.option("--where", metavar="SQL", default="", help="Only runs that meet this condition.")
@click.option("--all", "every_study", is_flag=True, help="Also points of earlier forms of the study.")
@click.option("--version", metavar="VERSION", help="Rows of another version of Casemate.")
def command(folder: Path, path: Path, where: str, every_study: bool, version: str | None) -> None:
    """Write the results of a study, of stored records or of a reproduction as one page for a browser."""
    from casemate.report import writing

    for notice in writing.write(folder, path, version, every_study, where):
        screen.notices().print(notice, markup=False)
    screen.notices().print(f"wrote {path}", markup=False)
