"""Checks that the two rails of a lane's verdict survive synthesis: a part of `make hw-synthesis`.

The rails have the same function, so that synthesis merges them unless this is forbidden; one pulse in the merged
comparator then makes the lane accept a forged line. The script maps the lane itself, with AES and the multiplier as
boxes, and searches the netlist backwards from each rail's register. Both must see all bits of the tag, and no cell that
sees any may serve both.
"""

from collections import deque
from collections.abc import Iterable
from pathlib import Path

from casemate.hardware import design, netlist, sources, synthesis
from casemate.hardware.library import Library
from casemate.hardware.netlist import Netlist

TOP, BOXES = "gcm_lane", ("aes_core", "gf128_mul")
MARK = "(* keep_hierarchy *)\n"
TAG_BITS = 128
TARGET_FO4 = 40
"""Delay that mapping aims at, in delays of an inverter that drives four of its kind."""


def mapped(cells: Library, rtl: Path, folder: Path) -> Netlist:
    """Returns the lane as cells, without the content of its boxes."""
    folder.mkdir(parents=True)
    lane = design.Design(sources.read([rtl / "sources.f"]), TOP)
    path = synthesis.to_cells(synthesis.to_logic(lane, folder, BOXES), cells, TARGET_FO4 * cells.fo4_s(), folder)
    return netlist.read(path, TOP, cells, {name: Netlist(name, {}, (), {}) for name in BOXES})


def without_mark(rtl: Path, folder: Path) -> Path:
    """A copy of the sources with a planted bug: the rails are not marked to be kept apart."""
    copy = folder / "rtl"
    copy.mkdir(parents=True)
    for path in (*rtl.glob("*.sv"), rtl / "sources.f"):
        (copy / path.name).write_text(path.read_text().replace(MARK, ""))
    return copy


class Rails:
    """Comparators in a netlist: the cells that decide whether the lane accepts a line."""

    def __init__(self, built: Netlist, cells: Library) -> None:
        self._cells = {each.name: each for each in built.instances}
        self._library = cells
        self._driver = {
            net: each
            for each in built.instances
            for pin in cells.cells[each.cell].outputs
            if isinstance(net := each.pins.get(pin), int)
        }
        self._names = built.names
        tag = [net for net, name in built.names.items() if name.startswith("out_tag_q[")]
        self.tag_bits = len(tag)
        self._sees_tag = self._fed_by(tag)

    def comparators(self) -> tuple[set[str], set[str]]:
        """For each rail, the cells before its registers that see the tag."""
        first, second = (self._before(rail) & self._sees_tag for rail in ("rail_a", "rail_b"))
        return first, second

    def tag_seen_by(self, comparator: Iterable[str]) -> int:
        """Returns the number of bits of the tag that these cells read directly."""
        nets = {net for name in comparator for net in self._inputs(name)}
        return sum(self._names.get(net, "").startswith("out_tag_q[") for net in nets)

    def _inputs(self, name: str) -> list[int]:
        each = self._cells[name]
        pins = (each.pins.get(pin) for pin in self._library.cells[each.cell].inputs)
        return [net for net in pins if isinstance(net, int)]

    def _before(self, rail: str) -> set[str]:
        """The cells between other registers and those of a rail."""
        kept = [each.name for net, each in self._driver.items() if self._names.get(net, "").startswith(f"{rail}[")]
        found, waiting = set[str](), deque(kept)
        while waiting:
            for net in self._inputs(waiting.popleft()):
                each = self._driver.get(net)
                if each and self._library.cells[each.cell].flop is None and each.name not in found:
                    found.add(each.name)
                    waiting.append(each.name)
        return found

    def _fed_by(self, nets: list[int]) -> set[str]:
        """The cells that have these nets before them, with no register between."""
        behind = dict[int, list[str]]()
        for name, each in self._cells.items():
            if self._library.cells[each.cell].flop is None:
                for net in self._inputs(name):
                    behind.setdefault(net, []).append(name)
        found, waiting = set[str](), deque(nets)
        while waiting:
            for name in behind.get(waiting.popleft(), ()):
                if name not in found:
                    found.add(name)
                    pins = (self._cells[name].pins.get(pin) for pin in self._outputs(name))
                    waiting.extend(net for net in pins if isinstance(net, int))
        return found

    def _outputs(self, name: str) -> list[str]:
        return self._library.cells[self._cells[name].cell].outputs


def check(said: str, rails: Rails, is_shared: bool) -> tuple[str, bool, str]:
    """Checks that the two rails share a comparator if `is_shared`, and otherwise that they do not."""
    first, second = rails.comparators()
    both = len(first & second)
    seen = [rails.tag_seen_by(comparator) for comparator in (first, second)]
    whole = rails.tag_bits == TAG_BITS and seen == [TAG_BITS, TAG_BITS]
    figures = f"{len(first)} and {len(second)} cells see {seen[0]} and {seen[1]} bits of the tag, {both} serve both"
    return said, whole and bool(both) == is_shared, figures


def checks(cells: Library, rtl: Path, folder: Path) -> list[tuple[str, bool, str]]:
    """Returns every check: its statement, its result, and the figures."""
    apart = Rails(mapped(cells, rtl, folder / "apart"), cells)
    merged = Rails(mapped(cells, without_mark(rtl, folder / "unmarked"), folder / "merged"), cells)
    return [
        check("each rail of the verdict has a separate comparator", apart, False),
        check("rails that are not marked to be kept apart are seen to share one", merged, True),
    ]
