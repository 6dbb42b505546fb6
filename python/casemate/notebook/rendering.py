"""Table and picture of each kind of result. The modules that the terminal uses as well make all of them."""

from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from casemate import schemas
from casemate._core import CasemateError
from casemate.excerpt import Excerpt
from casemate.notebook import markup
from casemate.schemas.attack import Campaign
from casemate.schemas.catalogue import Component
from casemate.tables import (
    battery_table,
    crypto_table,
    hardware_table,
    layouts,
    listing,
    power_loss_table,
    rows_table,
    run_table,
    verdicts,
)
from casemate.text.shown import Listed


def html(shown: object) -> str | None:
    """Returns a result as HTML: a timeline as its picture, all other results as their table; `None` without either."""
    if isinstance(shown, schemas.Explanation):
        return _timelines(schemas.Explanations(explanations=(shown,)))
    if isinstance(shown, schemas.Explanations):
        return _timelines(shown)
    if isinstance(shown, schemas.Settings):
        return markup.code(listing.settings(shown))
    build = next((build for kind, build in TABLES.items() if isinstance(shown, kind)), None)
    return None if build is None else markup.page(build(shown))


def plot(shown: object) -> Any:
    """Returns a result as a figure of matplotlib. Raises `CasemateError` for a result without a picture."""
    draw = next((draw for kind, draw in PICTURES.items() if isinstance(shown, kind)), None)
    if draw is None:
        known = ", ".join(kind.__name__ for kind in PICTURES)
        raise CasemateError(f"a {type(shown).__name__} has no picture: expected one of {known}")
    return draw(shown)


def _timelines(found: schemas.Explanations) -> str:
    parts: list[RenderableType] = [layouts.layout_table(layout) for layout in found.layouts]
    if not found.explanations:
        return markup.page(Group(*parts))
    from casemate.plots import timeline

    if found.difference_ns is not None:
        parts.append(timeline.difference(found))
    return markup.page(Group(*parts), picture=_timeline_figure(found)._repr_svg_(), says=found.brief())


def _of_run(results: schemas.RunResults) -> RenderableType:
    several = len({record.machine for record in results.records} | {each.machine for each in results.failures}) > 1
    failures = [
        Text(f"{each.design}{f' on {each.machine}' if several else ''}: {each.error}", style="red")
        for each in results.failures
    ]
    if not results.records:
        return Group(Text(results.brief()), *failures)
    checks = [record.checks for record in results.records]
    has_values = any(check.load_values is not None or check.not_compared for check in checks)
    return Group(run_table.run_table(results, has_values), *failures)


def _single(record: schemas.Record) -> schemas.RunResults:
    return schemas.RunResults(
        records=(record,), failures=(), interrupted=False, passed=record.checks.passed, protection=()
    )


def _of_attacks(results: schemas.AttackResults) -> RenderableType:
    parts: list[RenderableType] = [*layouts.changed(results.changes)]
    if results.reports:
        build = verdicts.replayed if results.replay else verdicts.verdict_tables
        parts.append(build(results.reports))
    if results.exhaustive:
        parts.append(verdicts.exhaustive_table(results.exhaustive, results.agrees))
    return Group(*(parts or [Text("no report")]))


def _of_losses(results: schemas.CrashResults) -> RenderableType:
    parts: list[RenderableType] = [*layouts.changed(results.changes)]
    parts += [verdicts.crash_tables(results.reports)] if results.reports else []
    parts += [verdicts.program_table(results.programs)] if results.programs else []
    return Group(*(parts or [Text("no report")]))


def _of_rows(found: schemas.Rows) -> RenderableType:
    names = list(found.rows[0]) if found.rows else []
    return rows_table.rows_table(names, [tuple(row[name] for name in names) for row in found.rows])


def _of_listing(found: schemas.Listing) -> RenderableType:
    kinds = [kind for kind in listing.KINDS if getattr(found, kind)]
    return listing.listing(found, kinds)


def _of_study(found: schemas.SweepResult) -> RenderableType:
    from casemate.tables import sweep_table

    return sweep_table.tables(found)


def _of_plan(found: schemas.SweepPlan) -> RenderableType:
    from casemate.tables import sweep_table

    return sweep_table.plan(found)


def _of_evaluation(found: schemas.Reproduction) -> RenderableType:
    from casemate.reproduce import report

    return report.tables(found, every_case=False)


def _of_derivation(found: schemas.Derivation) -> RenderableType:
    from casemate.reproduce import derived_report

    return derived_report.tables(found)


TABLES: dict[type, Callable[[Any], RenderableType]] = {
    schemas.RunResults: _of_run,
    schemas.Record: lambda record: _of_run(_single(record)),
    schemas.AttackReport: lambda report: verdicts.verdict_tables([report]),
    schemas.AttackResults: _of_attacks,
    Campaign: lambda found: verdicts.verdict_tables(found.reports) if found.reports else Text("no report"),
    schemas.ExhaustiveReport: lambda report: verdicts.exhaustive_table([report], report.agrees),
    schemas.CrashReport: lambda report: verdicts.crash_tables([report]),
    schemas.ProgramReport: lambda report: verdicts.program_table([report]),
    schemas.CrashResults: _of_losses,
    schemas.PowerLosses: lambda found: power_loss_table.power_loss_table(found, found.brief()),
    schemas.Layout: layouts.layout_table,
    schemas.TraceInfo: layouts.trace_table,
    schemas.BusInfo: layouts.bus_table,
    schemas.ExcerptInfo: layouts.excerpt_table,
    Excerpt: lambda excerpt: layouts.excerpt_table(excerpt.info()),
    schemas.Window: layouts.window_table,
    schemas.ImportedMachine: layouts.imported_table,
    schemas.Validation: layouts.validation_table,
    schemas.BatteryCost: battery_table.volumes,
    schemas.HardwareCost: hardware_table.table,
    schemas.HardwareComparison: hardware_table.comparison,
    schemas.CryptoBench: crypto_table.bench,
    schemas.SweepResult: _of_study,
    schemas.SweepPlan: _of_plan,
    schemas.Rows: _of_rows,
    schemas.Reproduction: _of_evaluation,
    schemas.Derivation: _of_derivation,
    schemas.Listing: _of_listing,
    Component: lambda component: listing.components([component]),
    Listed: listing.components,
}
"""Function that builds the table of each kind of result."""


def _timeline_figure(found: schemas.Explanations) -> Any:
    from casemate.plots import timeline_picture

    if not found.explanations:
        raise CasemateError("there is no timeline to draw: layouts have no picture")
    return timeline_picture.figure(found)


def _run_figure(results: schemas.RunResults) -> Any:
    from casemate.plots import run_picture

    if not results.records:
        raise CasemateError("there is no record to draw: every design failed, or the run was interrupted")
    return run_picture.figure(results)


def _verdict_figure(found: Sequence[Any], title: str) -> Any:
    from casemate.plots import verdict_picture

    if not found:
        raise CasemateError("there is no report to draw")
    return verdict_picture.figure([verdict_picture.of(report) for report in found], title)


def _battery_figure(found: schemas.BatteryCost) -> Any:
    from casemate.plots import battery_picture

    return battery_picture.figure(found)


def _hardware_figure(found: schemas.HardwareCost) -> Any:
    from casemate.plots import hardware_picture

    return hardware_picture.figure(found)


def _excerpt_figure(excerpt: Excerpt) -> Any:
    from casemate.plots import excerpt_picture

    return excerpt_picture.figure(excerpt)


def _study_figure(found: schemas.SweepResult) -> Any:
    from casemate.reproduce import pictures

    if not found.figures:
        raise CasemateError("the study has no figure to draw: no point is done, or its file has no [[figures]]")
    return pictures.panels(found.figures, f"study {found.study}")


def _evaluation_figure(found: schemas.Reproduction) -> Any:
    from casemate.reproduce import pictures

    return pictures.figure(found)


PICTURES: dict[type, Callable[[Any], Any]] = {
    schemas.RunResults: _run_figure,
    schemas.Record: lambda record: _run_figure(_single(record)),
    schemas.Explanation: lambda shown: _timeline_figure(schemas.Explanations(explanations=(shown,))),
    schemas.Explanations: _timeline_figure,
    schemas.AttackReport: lambda report: _verdict_figure([report], report.brief()),
    schemas.AttackResults: lambda found: _verdict_figure([*found.reports, *found.exhaustive], found.brief()),
    Campaign: lambda found: _verdict_figure(found.reports, found.brief()),
    schemas.ExhaustiveReport: lambda report: _verdict_figure([report], report.brief()),
    schemas.CrashReport: lambda report: _verdict_figure([report], report.brief()),
    schemas.ProgramReport: lambda report: _verdict_figure([report], report.brief()),
    schemas.CrashResults: lambda found: _verdict_figure([*found.reports, *found.programs], found.brief()),
    schemas.BatteryCost: _battery_figure,
    schemas.HardwareCost: _hardware_figure,
    Excerpt: _excerpt_figure,
    schemas.SweepResult: _study_figure,
    schemas.Reproduction: _evaluation_figure,
}
"""Function that draws the picture of each kind of result."""
