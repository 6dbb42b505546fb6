"""Assembles a page: HTML with the rows as JSON, the scripts and the style, so that it needs no other file."""

import html
import json
import math
from collections.abc import Iterable
from importlib.resources import files
from string import Template
from typing import Any

import vl_convert

from casemate.report import charts
from casemate.report.content import Content, all_programs, order, within
from casemate.report.figure import Figure
from casemate.report.reading import Rows
from casemate.reproduce.study import half_width
from casemate.text import amounts

DIGITS = 7
"""Significant digits of the numbers in a page."""
EXACT_MAX = 2**53
"""Largest whole number up to which JavaScript distinguishes all whole numbers."""
FILTERS = ("design", "program", "machine")
MARK = "<!-- casemate report -->"
"""Line that every page has: only such a file is written over."""
NOTES = '<p class="said"></p><p class="conditions"></p>'
SEEDS_MAX = 60
"""Number of seeds from which the quantile of the interval counts as constant."""


def build(content: Content) -> str:
    """Returns the whole page as text."""
    drawn = [_figure(figure, content) for figure in content.figures]
    data = {
        "tables": {name: _columns(rows) for name, rows in content.tables.items()},
        "figures": drawn,
        "within": within(content.context),
        "order": order(content),
        "filters": {name: _names(content, name) for name in FILTERS},
        "headings": {"label": "design", **{each.name: each.key for each in content.context.swept}},
        "machines": content.machines,
        "student": [0, 0, *(_quantile(count) for count in range(2, SEEDS_MAX + 1))],
        "all_programs": all_programs(content),
    }
    return Template(_file("page.html")).substitute(
        title=html.escape(content.title), subtitle=html.escape(_subtitle(content)), notices=_notices(content.notices),
        contents=_contents(content.figures), filters=_filters(content),
        sections="\n".join(map(_section, content.figures)), footer=html.escape(_footer(content)),
        data=embedded(data), library=_library(), script=_file("report.js"), style=_file("report.css"),
    )  # fmt: skip


def embedded(data: Any) -> str:
    """Returns JSON that an element `script` can contain: no text in it ends the element or begins a comment."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def _file(name: str) -> str:
    return (files("casemate.report") / name).read_text(encoding="utf-8")


def _library() -> str:
    text: str = vl_convert.javascript_bundle(snippet="window.vegaEmbed = vegaEmbed;")
    return text.replace("</script", "<\\/script")


def _quantile(seeds: int) -> float:
    """Returns the 97.5 % quantile of Student's distribution for the mean of values with this number of seeds."""
    half = half_width([1.0, *([0.0] * (seeds - 1))]) or 0.0
    # The standard error of a single one among zeros is 1 / seeds.
    return half * seeds


def _columns(rows: Rows) -> dict[str, Any]:
    """Returns rows by column: text as a list of names with the position of each row's name, numbers as they are."""
    columns: dict[str, Any] = {}
    for name in rows[0]:
        values = [_stored(row[name]) for row in rows]
        if all(value is None for value in values):
            continue
        if any(isinstance(value, str) for value in values):
            names = {value: index for index, value in enumerate(dict.fromkeys(values))}
            columns[name] = {"names": list(names), "values": [names[value] for value in values]}
        else:
            columns[name] = values
    return {"length": len(rows), "columns": columns}


def _stored(value: Any) -> Any:
    """Returns a number with few digits, `None` for a quotient that does not exist, and a whole number that JavaScript
    would round, such as a large seed, as text.
    """
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    return str(value) if isinstance(value, int) and abs(value) > EXACT_MAX else value


def _figure(figure: Figure, content: Content) -> dict[str, Any]:
    """Returns a figure as the script of the page reads it."""
    return {
        "name": figure.name, "title": figure.title, "table": figure.table, "layout": figure.layout,
        "by": figure.by, "compare": figure.compare, "overall": figure.overall, "about": figure.about,
        "where": figure.cells.where,
        "measures": [
            {"name": each.name, "label": each.label, "digits": each.digits, "half": each.half, "varies": each.varies}
            for each in figure.measures
        ],
        "columns": [{"name": each.name, "label": each.label, "digits": each.digits} for each in figure.cells.columns],
        "count": figure.cells.count, "conditions": (*figure.cells.conditions, *content.conditions[figure.table]),
        "chart": charts.compiled(figure.draw(figure, content.context)) if figure.draw else None,
    }  # fmt: skip


def _subtitle(content: Content) -> str:
    counted = ((len(_names(content, name)), name) for name in FILTERS)
    return ", ".join(amounts.counted(count, name) for count, name in counted if count)


def _notices(notices: Iterable[str]) -> str:
    listed = "".join(f"<li>{html.escape(each)}</li>" for each in notices)
    return f'<p>Notes:</p><ul class="notices">{listed}</ul>' if listed else ""


def _contents(figures: Iterable[Figure]) -> str:
    listed = "".join(f'<li><a href="#{each.name}">{html.escape(each.title)}</a></li>' for each in figures)
    return f'<nav aria-label="Figures"><ul>{listed}</ul></nav>'


def _footer(content: Content) -> str:
    """Returns the line at the end of the page, which says that it is complete."""
    counts = (f"{amounts.counted(len(rows), 'row')} of {name}" for name, rows in content.tables.items())
    return f"Made by casemate report. The page contains {', '.join(counts)}, and needs no network."


def _names(content: Content, name: str) -> list[str]:
    """Returns the designs, programs or machines of a page, first those of the runs."""
    tables = sorted(content.tables, key=lambda table: table != "runs")
    return list(
        dict.fromkeys(str(row[name]) for table in tables for row in content.tables[table] if row.get(name) is not None)
    )


def _filters(content: Content) -> str:
    """Returns the boxes that choose designs, programs and machines, for those with more than one. The value of a box is
    the position of its name in the page's data: HTML would change some letters of a name, such as a carriage return.
    """
    parts = []
    for name in FILTERS:
        values = _names(content, name)
        if len(values) > 1:
            boxes = "".join(
                f'<label><input type="checkbox" name="{name}" value="{index}" checked> {html.escape(value)}</label>'
                for index, value in enumerate(values)
            )
            parts.append(f"<fieldset><legend>{name.capitalize()}s</legend><div>{boxes}</div></fieldset>")
    reset = '<button type="reset">Show all</button>'
    return f'<form id="filters" aria-label="Filters">{"".join(parts)}{reset}</form>' if parts else ""


def _section(figure: Figure) -> str:
    title, name = html.escape(figure.title), figure.name
    # A matrix may be wider than the page; the keyboard scrolls it if it can have the focus.
    focus = ' tabindex="0"' if figure.layout == "cells" else ""
    drawing = '<div class="drawing" aria-hidden="true"></div>'
    chart = f'<div class="chart" role="img" aria-label="{title}"{focus}>{drawing}</div>' if figure.draw else ""
    table = (
        f'<div class="scroll" role="region" tabindex="0" aria-label="Table: {title}">'
        "<table><thead></thead><tbody></tbody></table></div>"
    )
    body = f"{chart}{NOTES}<details><summary>Table</summary>{table}</details>" if figure.draw else f"{table}{NOTES}"
    svg = '<button type="button" data-save="svg">Download SVG</button> ' if figure.draw else ""
    csv = '<button type="button" data-save="csv">Download CSV</button>'
    return (
        f'<section id="{name}" aria-labelledby="{name}-title"><h2 id="{name}-title">{title}</h2>'
        f'<p>{html.escape(figure.text)}</p>{body}<p class="downloads">{svg}{csv}</p></section>'
    )
