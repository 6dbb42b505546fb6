"""A paper's evaluation as tables: its figures next to ours, and its trends."""

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from casemate.schemas.reproduce import SEEDS_MAX, FigureFound, Reproduction, SeriesFound
from casemate.terminal import interruption


def tables(found: Reproduction, every_case: bool) -> RenderableType:
    """Returns figures and trends as tables; if `every_case`, with a row for each workload."""
    parts: list[RenderableType] = [Text(f"{found.paper}, on {found.machine}", style="bold")]
    parts += [Text(f"  {condition}", style="dim") for condition in found.conditions]
    parts.append(Text(f"  {_of_seeds(found)}", style="dim"))
    parts += [of_cases(figure) for figure in found.figures] if every_case else [_of_means(found.figures)]
    parts.append(_trends(found) if found.trends else Text("No trend is judged on these figures and workloads.", "dim"))
    parts += [Text(case, style="yellow") for case in found.left_out]
    parts += [Text(failure, style="red") for failure in found.failures]
    if found.interrupted:
        parts.append(Text(f"Stopped by {interruption.cause()}: the same command continues from here.", style="yellow"))
    return Group(*parts)


def _of_seeds(found: Reproduction) -> str:
    """Returns the notes on confidence intervals, and on figures with fewer seeds than requested."""
    if found.seeds == 1:
        return "Every run has one seed, so there are no intervals: --seeds 3 gives them."
    sentence = (
        f"Numbers are means over {found.seeds} seeds, ± half of the 95 % interval over these. A seed places pages, and "
        "draws keys and the data of built-in workloads. In brackets: half of the 95 % interval of one further seed."
    )
    if found.seeds == 2:
        sentence += " Two seeds say little about a spread, so these intervals are wide: --seeds 4 narrows them."
    fewer = [f"{figure.number} ({len(figure.seeds)})" for figure in found.figures if len(figure.seeds) < found.seeds]
    return sentence + (f" Fewer seeds are complete for figures {', '.join(fewer)}." if fewer else "")


def _of_means(figures: Sequence[FigureFound]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("figure")
    table.add_column("", max_width=44)
    table.add_column("series", max_width=26)
    table.add_column("paper", justify="right")
    table.add_column("ours", justify="right")
    for figure in figures:
        for index, series in enumerate(figure.series):
            head = (figure.number, f"{figure.title} ({figure.unit})") if index == 0 else ("", "")
            digits = _digits(series.paper, figure.unit)
            table.add_row(*head, series.name, _number(series.paper, digits), _of_series(series, figure.unit))
        table.add_section()
    return table


def of_cases(figure: FigureFound) -> RenderableType:
    """Returns a figure as a table: a row for each case, then the mean and, if the paper states one, its mean."""
    title = f"{figure.label}: {figure.title} ({figure.unit})"
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("")
    for series in figure.series:
        table.add_column(Text(series.name), justify="right", max_width=16)
    for case in figure.cases:
        further = case.seed_half_widths or (None,) * len(case.values)
        numbers = zip(case.values, case.half_widths, further, strict=True)
        table.add_row(
            Text(case.label),
            *(_number(value, _digits(value, figure.unit), half, one) for value, half, one in numbers),
        )
    table.add_section()
    means = (Text(_of_series(series, figure.unit), style="bold") for series in figure.series)
    table.add_row(f"{figure.mean} mean", *means)
    if any(series.paper is not None for series in figure.series):
        papers = (series.paper for series in figure.series)
        table.add_row("the paper's", *(_number(paper, _digits(paper, figure.unit)) for paper in papers))
    note = [Text(f"  {figure.note}", style="dim")] if figure.note else []
    return Group(Text(title, style="bold cyan"), *note, table, *_wanting(figure))


def _wanting(figure: FigureFound) -> list[Text]:
    """Returns the number of seeds that cases with wide intervals would need."""
    named = [
        f"{each.case} {each.seeds or f'more than {SEEDS_MAX:,}'} seeds of {each.seconds:.0f} s on one processor"
        for each in figure.wanting
    ]
    return (
        [Text(f"  Intervals of ± {figure.wanting[0].points:g} would need: {', '.join(named)}.", style="dim")]
        if named
        else []
    )


def _of_series(series: SeriesFound, unit: str) -> str:
    return _number(series.ours, _digits(series.ours, unit), series.half_width, series.seed_half_width)


VERDICTS = {
    "holds": Text("holds", style="green"),
    "fails": Text("does not hold", style="red"),
    "undecided": Text("undecided", style="yellow"),
}


def _trends(found: Reproduction) -> Table:
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("")
    table.add_column("trend", max_width=46)
    table.add_column("measured", max_width=46)
    for trend in found.trends:
        table.add_row(VERDICTS[trend.verdict], trend.claim, trend.measured)
    return table


def _digits(value: float | None, unit: str) -> int:
    """Returns the digits after the decimal point: one for percentages and large numbers, otherwise as many as four
    significant digits need.
    """
    size = abs(value or 0.0)
    if unit.startswith("%"):
        return 3 if size < 2 else 1
    return 3 if size < 10 else 2 if size < 100 else 1


def _number(value: float | None, digits: int, half_width: float | None = None, of_one_more: float | None = None) -> str:
    if value is None:
        return ""
    of_mean = "" if half_width is None else f" ± {half_width:.{digits}f}"
    return f"{value:.{digits}f}{of_mean}" + ("" if of_one_more is None else f" [{of_one_more:.{digits}f}]")
