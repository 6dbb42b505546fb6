"""HTML of the tables that the terminal prints: a table for each table, a line for each text, a class for each style.

The modules of `casemate.tables` build all tables once, for both. Any other object of rich becomes preformatted text.
"""

import io
from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.style import Style
from rich.table import Column, Table
from rich.text import Text

COLUMNS = 100
"""Width of preformatted text, in characters."""

LONG = 40
"""Number of rows above which a table scrolls within a page."""

SHADES = {
    "green": ("#1b7a2b", "#7ccf86"),
    "yellow": ("#8a5a00", "#e3b95b"),
    "red": ("#b3261e", "#ff8a80"),
    "magenta": ("#8a3a88", "#dc9bda"),
    "cyan": ("#0b6b75", "#6fd0dc"),
    "blue": ("#2456a6", "#8db6f5"),
}
"""Colour of each of the terminal's colours on a light and on a dark page."""

DARK_PAGES = ('body[data-jp-theme-light="false"]', "body.vscode-dark", 'html[data-theme="dark"]', 'html[theme="dark"]')
"""Selectors of dark pages: JupyterLab, Visual Studio Code, and two kinds of exported pages."""


def _style_sheet() -> str:
    rules = [
        "div.casemate{font-family:inherit;overflow-x:auto}",
        "div.casemate>div{white-space:pre-wrap;text-align:left;max-width:100ch}",
        "div.casemate figure{margin:0;background:#fff;width:fit-content;max-width:100%}",
        "div.casemate svg{max-width:100%;height:auto;display:block}",
        "div.casemate table{border-collapse:collapse;table-layout:auto;margin:.4em 0;border:0;text-align:left}",
        "div.casemate th,div.casemate td{padding:.1em .7em;border:0;vertical-align:top;white-space:pre-wrap;"
        "background:transparent;text-align:left;font-weight:normal;max-width:60ch}",
        "div.casemate thead th{border-bottom:1px solid currentColor;font-weight:bold;vertical-align:bottom}",
        "div.casemate caption{caption-side:top;text-align:left;font-weight:bold}",
        "div.casemate section{max-height:36em;overflow-y:auto;width:fit-content;max-width:100%}",
        "@media print{div.casemate section{max-height:initial}}",
        "div.casemate .end td,div.casemate .end th{padding-bottom:.6em}",
        "div.casemate .right{text-align:right;white-space:pre}",
        "div.casemate .name{white-space:pre}",
        "div.casemate .bold{font-weight:bold}div.casemate .italic{font-style:italic}div.casemate .dim{opacity:.65}",
        "div.casemate .alarm{background:#b3261e;color:#fff;padding:0 .3em}",
        *(f"div.casemate .{name}{{color:{light}}}" for name, (light, _) in SHADES.items()),
        *(f"{page} div.casemate .{name}{{color:{dark}}}" for page in DARK_PAGES for name, (_, dark) in SHADES.items()),
    ]
    return f"<style>{''.join(rules)}</style>"


STYLE_SHEET = _style_sheet()


def page(shown: RenderableType, picture: str = "", says: str = "") -> str:
    """Returns a table, a text or a group of them as HTML with its style. `picture` is an SVG image above them, with the
    text that it says.
    """
    image = f'<figure role="img" aria-label="{escape(says)}">{picture}</figure>' if picture else ""
    return f'<div class="casemate">{STYLE_SHEET}{image}{"".join(_parts(shown))}</div>'


def code(text: str) -> str:
    """Returns the text of a file as HTML."""
    return f"<pre>{escape(text)}</pre>"


def _parts(shown: Any) -> Iterator[str]:
    if isinstance(shown, Group):
        for part in shown.renderables:
            yield from _parts(part)
    elif isinstance(shown, Table):
        yield _table(shown)
    elif isinstance(shown, str | Text):
        yield f"<div>{_inline(shown) or '&nbsp;'}</div>"
    else:
        yield f"<pre>{escape(_preformatted(shown))}</pre>"


def _preformatted(shown: RenderableType) -> str:
    console = Console(file=io.StringIO(), width=COLUMNS, emoji=False, highlight=False)
    with console.capture() as captured:
        console.print(shown)
    return captured.get()


def _table(table: Table) -> str:
    parts = ["<table>"] if table.row_count <= LONG else ['<section><table class="long">']
    if table.title:
        parts.append(f"<caption>{_inline(table.title)}</caption>")
    if table.show_header and any(str(column.header) for column in table.columns):
        cells = (f'<th scope="col"{_classes(*_side(column))}>{_inline(column.header)}</th>' for column in table.columns)
        parts.append(f"<thead><tr>{''.join(cells)}</tr></thead>")
    rows = zip(*(column.cells for column in table.columns), strict=True)
    lines = (_row(table.columns, cells, row.end_section) for row, cells in zip(table.rows, rows, strict=True))
    parts.append(f"<tbody>{''.join(lines)}</tbody></table>{'' if table.row_count <= LONG else '</section>'}")
    if table.caption:
        parts.append(f"<div>{_inline(table.caption)}</div>")
    return "".join(parts)


def _row(columns: Sequence[Column], cells: Sequence[RenderableType], ends_section: bool) -> str:
    name, *others = cells
    parts = [f'<th scope="row"{_classes(*_side(columns[0]), "name")}>{_inline(name)}</th>']
    for column, cell in zip(columns[1:], others, strict=True):
        parts.append(f"<td{_classes(*_side(column))}>{_inline(cell)}</td>")
    return f"<tr{_classes(*(['end'] if ends_section else []))}>{''.join(parts)}</tr>"


def _side(column: Column) -> list[str]:
    return ["right"] if column.justify == "right" else []


def _classes(*names: str) -> str:
    return f' class="{" ".join(names)}"' if names else ""


def _inline(content: Any) -> str:
    """Returns the content of a cell or a line. Text of rich may contain styles, and strings may contain its markup."""
    if isinstance(content, str):
        content = Text.from_markup(content, emoji=False)
    if not isinstance(content, Text):
        return "".join(_parts(content))
    whole = _of_style(content.style)
    return _wrapped("".join(_spans(content)), whole)


def _spans(text: Text) -> Iterator[str]:
    """Yields the pieces of a text between the ends of its spans, each with all styles that apply to it."""
    edges = sorted({0, len(text), *(edge for span in text.spans for edge in (span.start, min(span.end, len(text))))})
    for start, end in pairwise(edges):
        styles = [span.style for span in text.spans if span.start <= start and span.end >= end]
        names = [name for style in styles for name in _of_style(style)]
        yield _wrapped(escape(text.plain[start:end]), names)


def _wrapped(content: str, names: Sequence[str]) -> str:
    return f"<span{_classes(*dict.fromkeys(names))}>{content}</span>" if names and content else content


def _of_style(given: str | Style) -> list[str]:
    """Returns the classes of a style."""
    style = Style.parse(given) if isinstance(given, str) else given
    if style.bgcolor is not None:
        return ["alarm", "bold"]
    colour = [style.color.name] if style.color is not None and style.color.name in SHADES else []
    return [name for name in ("bold", "dim", "italic") if getattr(style, name)] + colour
