"""Specifications of the charts, for Vega-Lite. A chart draws the rows that the page hands to it."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import vl_convert

from casemate.report.figure import Column, Context, Draw, Figure, Measure, Swept

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b5589a", "#8a7000", "#3d9bd1", "#7f7f7f", "#a0522d", "#6a5acd", "#c44e52")
"""Colours that people with colour-blindness can tell apart, on a light and on a dark page."""
PARTS = (
    ("at work",), ("data",), ("memory queue",), ("counter", "counters"), ("tree", "nodes"), ("tag", "tags"),
    ("cipher and MAC", "owners"), ("re-encryption", "bitmaps"), ("persistence", "records"), ("idle", "contexts"),
)  # fmt: skip
"""Parts of sums, by the index of their colour: a cause has the same colour in every figure."""
PART_COLOURS = {name: colour for names, colour in zip(PARTS, COLOURS, strict=True) for name in names}
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
INK = "currentColor"
"""The colour of the page's text, so that one drawing suits light, dark and print."""
CELL_INK = "#1b1f24"
"""Colour of text on the cells of a matrix, which are light on every page."""
CELLS = {
    "stopped": "#b9dcee",
    "not applicable": "#e4e7eb",
    "data lost": "#f6e3b0",
    "leaked": "#f3c689",
    "wrong data": "#ea9a7e",
}
"""Colours of the cells of a matrix, by the kind of end."""
CELL_PIXELS = 122
DASHES = ([1, 0], [1, 0], [6, 5])
"""Dashes of lines in turn: the third line is visible above a second one with the same values."""
BY_NAME = ("color", "shape", "strokeDash")
"""Scales with the names of users as their domains."""
ROWS = alt.NamedData("rows")


def look() -> dict[str, Any]:
    """Returns the configuration of all charts."""
    axis = {
        "labelColor": INK, "titleColor": INK, "domainColor": INK, "tickColor": INK, "gridColor": INK,
        "gridOpacity": 0.15, "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "labelLimit": 260,
        "labelFlush": False, "tickCount": 8,
    }  # fmt: skip
    return {
        "background": None, "aria": False, "font": "system-ui, sans-serif", "view": {"stroke": None}, "axis": axis,
        "legend": {
            "labelColor": INK, "titleColor": INK, "labelFontSize": 12, "titleFontSize": 12, "orient": "bottom",
            "columns": 4, "titleFontWeight": "normal", "symbolLimit": 0, "labelLimit": 200, "symbolOpacity": 1,
        },
    }  # fmt: skip


def compiled(chart: dict[str, Any]) -> dict[str, Any]:
    """Returns a chart in the form of Vega, which the page draws without Vega-Lite. Names of users enter the scales only
    now: Vega-Lite would put them into expressions, which accept fewer letters than JSON.
    """
    names = chart["usermeta"]["names"]
    spec: dict[str, Any] = vl_convert.vegalite_to_vega(chart)
    for scale in spec["scales"]:
        if names and scale["domain"] == _numbers(names):
            scale["domain"] = list(names) if scale["name"] in BY_NAME else scale["domain"]
    return spec


def _numbers(names: Sequence[str]) -> list[int]:
    return list(range(len(names)))


def _finished(chart: Any, names: Sequence[str] = ()) -> dict[str, Any]:
    """Returns a chart as the content of its JSON form, without the data, and with the names of users in its scales."""
    found: dict[str, Any] = chart.to_dict()
    return found | {"config": look(), "padding": 4, "usermeta": {"names": list(names)}}


def _by_name(names: Sequence[str], values: tuple[Any, ...]) -> Any:
    """Returns the scale that gives each name of a user one of the values, in turn. `compiled` adds the names."""
    return alt.Scale(domain=_numbers(names), range=_in_turn(len(names), values))


def _in_turn(count: int, values: tuple[Any, ...]) -> list[Any]:
    return [values[index % len(values)] for index in range(count)]


def _colour(context: Context) -> Any:
    return alt.Color("label:N", title=None, scale=_by_name(context.labels, COLOURS))


def _shape(context: Context) -> Any:
    return alt.Shape("label:N", title=None, scale=_by_name(context.labels, SHAPES))


def _title(measure: Measure, context: Context) -> str:
    """Returns the title of an axis: the measure, and the baseline of a ratio."""
    return f"{measure.label}, as a multiple of that of {context.baseline}" if measure.is_ratio else measure.label


def _one() -> Any:
    """Returns the line at 1, the value of the baseline."""
    line = alt.Chart(alt.InlineData(values=[{}])).mark_rule(color=INK, strokeDash=[4, 3], opacity=0.7)
    return line.encode(x=alt.datum(1))


def _tips(*names: str) -> list[Any]:
    numbers = (alt.Tooltip(f"{name}:Q", format=".4g") for name in ("value", "low", "high"))
    return [*(alt.Tooltip(f"{name}:N", title="design" if name == "label" else name) for name in names), *numbers]


def _lanes(count: int) -> Any:
    """Returns the offset of a dot within its band, by its number. An offset by name would put all names into an
    expression, which accepts fewer letters than a scale.
    """
    return alt.YOffset("lane:O", scale=alt.Scale(domain=list(range(count)), paddingOuter=0.4))


def dots(figure: Figure, context: Context) -> dict[str, Any]:
    """One measure by program: a dot for each design, with its interval."""
    measure = figure.measures[0]
    title = _title(measure, context)
    base = alt.Chart(ROWS).encode(
        y=alt.Y("program:N", sort=None, title=None, axis=alt.Axis(grid=True, tickBand="extent", ticks=False)),
        yOffset=_lanes(len(context.labels)),
        color=_colour(context),
    )
    intervals = base.mark_rule(strokeWidth=1.5).encode(x=alt.X("low:Q", title=title), x2="high:Q")
    points = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=alt.X("value:Q", title=title, scale=alt.Scale(zero=False, padding=10)),
        shape=_shape(context),
        tooltip=_tips("program", "label"),
    )
    layers = alt.layer(*([_one()] if measure.is_ratio else []), intervals, points)
    return _finished(layers.properties(width="container", height=alt.Step(13, **{"for": "offset"})), context.labels)


def stack(title: str) -> Draw:
    """Returns the drawing of the parts of a sum: a bar for each design."""

    def draw(figure: Figure, context: Context) -> dict[str, Any]:
        parts = [each.label for each in figure.measures]
        bands = alt.Scale(paddingInner=0.3, paddingOuter=0.2)
        tips = [alt.Tooltip("label:N", title="design"), alt.Tooltip("part:N"), alt.Tooltip("value:Q", format=".4g")]
        chart = (
            alt.Chart(ROWS)
            .mark_bar()
            .encode(
                y=alt.Y("label:N", sort=None, title=None, scale=bands),
                x=alt.X("value:Q", title=title, stack="zero"),
                color=alt.Color(
                    "part:N", title=None, scale=alt.Scale(domain=parts, range=[PART_COLOURS[part] for part in parts])
                ),
                order=alt.Order("order:Q"),
                tooltip=tips,
            )
        )
        return _finished(chart.properties(width="container", height=alt.Step(24)))

    return draw


def percentiles(figure: Figure, context: Context) -> dict[str, Any]:
    """Latencies that shares of the reads do not exceed: a line for each design, with the largest share at the top."""
    shares = [each.label for each in reversed(figure.measures)]
    axis = alt.Axis(labelExpr="replace(datum.label, ' within (ns)', '')", grid=True)
    base = alt.Chart(ROWS).encode(
        x=alt.X("value:Q", title="read latency (ns), logarithmic", scale=alt.Scale(type="log", nice=False, padding=10)),
        y=alt.Y("part:O", title="share of reads", scale=alt.Scale(domain=shares), axis=axis),
        color=_colour(context),
    )
    tips = [alt.Tooltip("label:N", title="design"), alt.Tooltip("part:N"), alt.Tooltip("value:Q", format=".4g")]
    lines = base.mark_line(strokeWidth=1.8).encode(order=alt.Order("order:Q"))
    points = base.mark_point(filled=True, size=70, opacity=1).encode(shape=_shape(context), tooltip=tips)
    return _finished(alt.layer(lines, points).properties(width="container", height=240), context.labels)


def pareto(figure: Figure, context: Context) -> dict[str, Any]:
    """Cost against protection: a point for each design, and the line of the designs that no other beats."""
    cost, protection = figure.measures
    base = alt.Chart(ROWS).encode(
        x=alt.X(f"{cost.name}:Q", title=_title(cost, context), scale=alt.Scale(zero=False, padding=40)),
        y=alt.Y(f"{protection.name}:Q", title=protection.label, scale=alt.Scale(domain=[0, 100])),
    )
    line = base.mark_line(interpolate="step-after", color=INK, opacity=0.5, strokeDash=[4, 3])
    front = line.transform_filter("datum.front").encode(order=alt.Order(f"{cost.name}:Q"))
    points = base.mark_point(filled=True, size=90, opacity=1).encode(
        color=_colour(context),
        shape=_shape(context),
        tooltip=[
            alt.Tooltip("label:N", title="design"),
            *(alt.Tooltip(f"{each.name}:Q", title=each.label, format=".4g") for each in (cost, protection)),
        ],
    )
    names = base.mark_text(align="right", dx=-9, dy=-1, color=INK, fontSize=12, limit=220).encode(text="label:N")
    return _finished(alt.layer(front, points, names).properties(width="container", height=300), context.labels)


def curve(swept: Swept) -> Draw:
    """Returns the drawing of one measure over the values of a swept key: a line for each design."""

    def draw(figure: Figure, context: Context) -> dict[str, Any]:
        measure = figure.measures[0]
        title = _title(measure, context)
        steps = alt.Scale(domain=list(context.options[swept.name]))
        across = alt.X(f"{swept.name}:O", sort=None, scale=steps, title=swept.key, axis=alt.Axis(labelAngle=0))
        base = alt.Chart(ROWS).encode(x=across, color=_colour(context))
        up = alt.Y("value:Q", title=title, scale=alt.Scale(zero=False))
        intervals = base.mark_rule(strokeWidth=1.5).encode(y=alt.Y("low:Q", title=title), y2="high:Q")
        lines = base.mark_line(strokeWidth=1.8).encode(y=up)
        points = base.mark_point(filled=True, size=70, opacity=1).encode(
            y=up, shape=_shape(context), tooltip=_tips(swept.name, "label")
        )
        return _finished(alt.layer(intervals, lines, points).properties(width="container", height=260), context.labels)

    return draw


def phases(value: Column) -> Draw:
    """Returns the drawing of a number over the instructions of a run: a line for each, in the colour of its design."""

    def draw(figure: Figure, context: Context) -> dict[str, Any]:
        tips = [alt.Tooltip("label:N", title="design"), alt.Tooltip("program:N"), alt.Tooltip("seed:Q")]
        tips += [alt.Tooltip(f"{name}:Q", format=",.4~g") for name in ("start", value.name)]
        base = alt.Chart(ROWS).encode(
            x=alt.X("start:Q", title="instructions executed", axis=alt.Axis(format="~s", tickCount=5)),
            y=alt.Y(f"{value.name}:Q", title=value.label, scale=alt.Scale(zero=False)),
            color=_colour(context),
            detail=alt.Detail("run:O"),
        )
        lines = base.mark_line(strokeWidth=1.5)
        points = base.mark_point(filled=True, size=22, opacity=1).encode(tooltip=tips)
        layers = alt.layer(lines, points.transform_filter(f"isValid(datum.{value.name})"))
        return _finished(layers.properties(width="container", height=240), context.labels)

    return draw


def matrix(figure: Figure, context: Context) -> dict[str, Any]:
    """Ends of attacks or of losses: a cell for each design, with the end as text."""
    names = alt.Axis(orient="top", labelAngle=0, labelLimit=CELL_PIXELS - 4, domain=False, ticks=False)
    base = alt.Chart(ROWS).encode(
        x=alt.X("label:N", sort=None, title=None, axis=names),
        y=alt.Y("tried:N", sort=None, title=None, axis=alt.Axis(domain=False, ticks=False)),
        tooltip=[alt.Tooltip(f"{name}:N") for name in ("label", "tried", "worst", "claim")],
    )
    cells = base.mark_rect(stroke="#ffffff", strokeWidth=1).encode(
        color=alt.Color("group:N", title=None, scale=alt.Scale(domain=list(CELLS), range=list(CELLS.values())))
    )
    words = base.mark_text(color=CELL_INK, fontSize=11, limit=CELL_PIXELS - 8).encode(text="shown:N")
    return _finished(alt.layer(cells, words).properties(width=alt.Step(CELL_PIXELS), height=alt.Step(19)))


def scaling(title: str, series: tuple[str, ...]) -> Draw:
    """Returns the drawing of points over the number of modules, with the lines that fit them."""

    def draw(figure: Figure, context: Context) -> dict[str, Any]:
        base = alt.Chart(ROWS).encode(
            x=alt.X("modules:Q", title="number of modules"),
            y=alt.Y("value:Q", title=title),
            color=alt.Color("series:N", title=None, scale=_by_name(series, COLOURS)),
        )
        dashes = alt.StrokeDash("series:N", title=None, scale=_by_name(series, DASHES))
        lines = base.mark_line(strokeWidth=1.8).transform_filter("datum.kind !== 'point'").encode(strokeDash=dashes)
        points = base.mark_point(filled=True, size=70, opacity=1).transform_filter("datum.kind === 'point'")
        tips = [alt.Tooltip("series:N"), alt.Tooltip("modules:Q"), alt.Tooltip("value:Q", format=".4g")]
        layers = alt.layer(lines, points.encode(tooltip=tips))
        return _finished(layers.properties(width="container", height=260), series)

    return draw


def paper(title: str, series: tuple[str, ...], has_paper: bool) -> Draw:
    """Returns the drawing of a paper's figure: a dot for each case and series, and a bar for the paper's mean if the
    paper states one.
    """

    def draw(figure: Figure, context: Context) -> dict[str, Any]:
        base = alt.Chart(ROWS).encode(
            y=alt.Y("case:N", sort=None, title=None, axis=alt.Axis(grid=True, tickBand="extent", ticks=False)),
            yOffset=_lanes(len(series)),
        )
        colour = alt.Color("series:N", title=None, scale=_by_name(series, COLOURS))
        shape = alt.Shape("series:N", title=None, scale=_by_name(series, SHAPES))
        intervals = base.mark_rule(strokeWidth=1.5).encode(x=alt.X("low:Q", title=title), x2="high:Q", color=colour)
        points = base.mark_point(filled=True, size=70, opacity=1).encode(
            x=alt.X("value:Q", title=title, scale=alt.Scale(zero=False, padding=10)),
            color=colour,
            shape=shape,
            tooltip=[*_tips("case", "series"), alt.Tooltip("paper:Q", format=".4g")],
        )
        printed = base.mark_tick(color=INK, thickness=3, size=13).encode(x=alt.X("paper:Q", title=title))
        layers = alt.layer(intervals, points, *([printed] if has_paper else []))
        return _finished(layers.properties(width="container", height=alt.Step(11, **{"for": "offset"})), series)

    return draw
