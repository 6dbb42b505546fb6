"""Sections 2.3 and 3.1, chapter 4, Tables 4.1 to 5.3 and equations 5.1 to 5.5 of the thesis: cost of one module or
core.
"""

from itertools import combinations

from casemate.crypto import regression
from casemate.crypto.feasibility import engine_mbps, software_mbps
from casemate.crypto.regression import Line
from casemate.reproduce.derivation import Rows, agreement
from casemate.reproduce.gcm import parameters as given
from casemate.reproduce.gcm.printed import PRINTED
from casemate.schemas.derivation import DerivedTable

TYPICAL, WORST = "FPGA, typical", "FPGA, worst"


def prior_work() -> DerivedTable:
    """Returns section 2.3, the consequences of the related work's assumptions."""
    rows = Rows(PRINTED["section-2.3"])
    engine = given.YAN_CLOCK_HZ * given.BLOCK_BITS
    rows.add(
        "Yan et al.", "engines together [Tb/s]", given.YAN_ENGINES * engine / 1e12,
        f"{given.YAN_ENGINES} engines x {given.BLOCK_BITS} bit x {given.YAN_CLOCK_HZ / 1e9:g} GHz",
    )  # fmt: skip
    rows.add(
        "Lee et al.", "modules side by side", given.LEE_ENCRYPT_CYCLES / given.LEE_DECRYPT_CYCLES,
        f"{given.LEE_ENCRYPT_CYCLES} / {given.LEE_DECRYPT_CYCLES} cycles: CBC encrypts blocks in turn",
    )  # fmt: skip
    return rows.table("section-2.3", "engines that earlier work assumes")


def key_schedules() -> DerivedTable:
    """Section 3.1: bits of the expanded keys."""
    rows = Rows(PRINTED["section-3.1"])
    for bits, rounds in given.ROUNDS.items():
        rows.add(
            f"AES-{bits}", "expanded key [bit]", given.BLOCK_BITS * (rounds + 1),
            f"{given.BLOCK_BITS} bit x ({rounds} rounds + 1)",
            "FIPS 197 adds a round key before the first round too; the thesis leaves that step out, and so has one "
            "round key too few",
        )  # fmt: skip
    return rows.table("section-3.1", "key schedules")


def software() -> DerivedTable:
    """Table 4.1 and the text of chapter 4."""
    rows = Rows(PRINTED["4.1"])
    for name, measured in (("encrypt", given.C_SEAL), ("decrypt", given.C_OPEN)):
        in_text = round(measured[64])
        exact = software_mbps(given.X86_CLOCK, measured[64])
        rows.add(
            f"64 B, {name}", "throughput [Mb/s]", software_mbps(given.X86_CLOCK, in_text),
            f"8 bit x 2.7 GHz / {in_text}, the cycles per byte rounded as in the text",
            f"from the cycles per byte as Table 4.1 has them, {measured[64]}, it is {exact:.1f}",
        )  # fmt: skip
        line = regression.least_squares([(size, size * per_byte) for size, per_byte in measured.items()])
        rows.add(f"all sizes, {name}", "cycles per byte", line.slope, "slope of a line through cycles over bytes")
        rows.add(f"all sizes, {name}", "cycles of a call", line.intercept, "where that line begins")
    for mode, mbps in given.OPENSSL_MBPS.items():
        per_byte = 8 * given.X86_CLOCK / (mbps * 1e6)
        rows.add(f"OpenSSL, {mode}", "cycles per byte", per_byte, f"8 bit x 2.7 GHz / {mbps:g} Mb/s")
    note = "Cycles per byte are measured, by equation 4.1; `casemate bench crypto` measures this computer's."
    return rows.table("4.1", "portable C on x86, and OpenSSL", note)


def cores() -> DerivedTable:
    """Returns Table 5.1, the clock cycles that a module needs for a line."""
    rows = Rows(PRINTED["5.1"])
    steps = given.OPEN_CORE
    overlapping = steps.line() - given.LINE_CLOCKS
    rows.add(
        "open source", "line and tag [clocks]", steps.line(),
        f"{steps.startup} + {given.LINE_BLOCKS} x {steps.block} + {steps.tag}",
        f"its steps add up to {overlapping} clock more than the thesis counts: adjacent steps overlap by it",
    )  # fmt: skip
    rows.add(
        "open source, key kept", "line and tag [clocks]", steps.line(overlapping) - steps.startup,
        f"{steps.line(overlapping)} - {steps.startup}",
        "the hash key depends only on the key: all but the first line under one key can do without the startup, "
        f"{100 * (given.LINE_CLOCKS / (given.LINE_CLOCKS - steps.startup) - 1):.0f} % more throughput, which no table "
        "counts",
    )  # fmt: skip
    other = given.COMMERCIAL_CORE
    rows.add(
        "commercial", "line and tag [clocks]", other.line(),
        f"{other.startup} + {given.LINE_BLOCKS} x {other.block} + {other.tag}",
    )  # fmt: skip
    fast, slow = engine_mbps(other.clock_max_hz, other.line()), engine_mbps(steps.clock_max_hz, given.LINE_CLOCKS)
    rows.add("open source", "throughput [Mb/s]", slow, f"512 bit x 212 MHz / {given.LINE_CLOCKS}")
    rows.add(
        "commercial", "throughput [Mb/s]", fast, f"512 bit x 256 MHz / {other.line()}",
        f"{fast / slow:.1f} times the open-source module's, which the text calls \"slightly lower\"",
    )  # fmt: skip
    rows.add(
        "multiplier", "block [clocks]", given.BLOCK_BITS / given.MULTIPLIER_BITS,
        f"{given.BLOCK_BITS} / {given.MULTIPLIER_BITS} bit",
    )  # fmt: skip
    return rows.table("5.1", "open-source and commercial module on a Kintex 7")


def module_power() -> DerivedTable:
    """Returns Table 5.2, the power of one module."""
    rows = Rows(PRINTED["5.2"])
    for name, power in given.POWER.items():
        rows.add(name, "total [mW]", power.total_mw, f"{power.dynamic_mw:g} + {power.static_mw:g} mW")
    return rows.table("5.2", "power of one module")


def fits() -> DerivedTable:
    """Compares the thesis's straight lines, equations 5.1 to 5.5, with the points in its tables."""
    rows = Rows(PRINTED["equations-5.1-5.5"])
    for name in (TYPICAL, WORST):
        line, alone = given.FITS[name], given.POWER[name].total_mw
        rows.add(
            name, "power of 1 [mW]", line.at(1), f"{line.slope} x 1 + {line.intercept}",
            f"the line is {100 * (line.at(1) / alone - 1):.0f} % above Table 5.2's single module; its points are "
            "only in Figure 5.1, so it cannot be fitted again",
        )  # fmt: skip
    _asic_power(rows)
    _asic_area(rows)
    fpga = given.FPGA_FITS
    for kind in ("FF", "LUT"):
        rows.add("FPGA", f"{kind} of one more", fpga[kind].slope, "slope of equation 5.4")
    return rows.table(
        "equations-5.1-5.5", "lines through power, area and resources", "Ours are least squares of Table 5.3."
    )


def _asic_power(rows: Rows) -> None:
    """Adds equation 5.3, the power of the ASIC, which is not the least-squares fit of Table 5.3."""
    points = [(point.modules, point.power_mw) for point in given.ASIC_POINTS]
    ours, theirs = regression.least_squares(points), given.FITS["ASIC"]
    reach = regression.rounding_reach([x for x, _ in points], given.POWER_HALF_UNIT_MW)
    alike = sum(_is_printed_alike(regression.least_squares(some), theirs) for some in _subsets(points))
    why = (
        f"equation 5.3 is not the fit of Table 5.3: rounding moves the slope by {reach.slope:.1g} at most, and "
        f"{alike or 'none'} of the {len(_subsets(points))} fits of two or more of its points is printed so"
    )
    rows.add("ASIC", "power, slope [mW/module]", ours.slope, "least squares of Table 5.3", why)
    rows.add("ASIC", "power, intercept [mW]", ours.intercept, "least squares of Table 5.3", why)
    for modules, milliwatts in (points[0], points[-1]):
        off = 100 * (theirs.at(modules) / milliwatts - 1)
        rows.add(
            "ASIC", f"power of {modules} [mW]", theirs.at(modules), f"{theirs.slope} x {modules} + {theirs.intercept}",
            f"equation 5.3 is {abs(off):.1f} % {'above' if off > 0 else 'below'} the point of Table 5.3",
        )  # fmt: skip


def _asic_area(rows: Rows) -> None:
    """Adds equation 5.5, the area of the ASIC."""
    points = [(point.modules, point.area_um2) for point in given.ASIC_POINTS]
    ours = regression.least_squares(points)
    reach = regression.rounding_reach([x for x, _ in points], given.AREA_HALF_UNIT_UM2)
    for name, computed, most, theirs in (
        ("slope [um2/module]", ours.slope, reach.slope, given.ASIC_AREA_FIT.slope),
        ("intercept [um2]", ours.intercept, reach.intercept, given.ASIC_AREA_FIT.intercept),
    ):
        within = "within" if abs(computed - theirs) <= most else "beyond"
        rows.add(
            "ASIC", f"area, {name}", computed, "least squares of Table 5.3",
            f"Table 5.3 has areas in thousands: rounding moves it by up to {most:.0f}, and the difference is "
            f"{within} this",
        )  # fmt: skip


def _subsets(points: list[tuple[int, float]]) -> list[tuple[tuple[int, float], ...]]:
    return [some for count in range(2, len(points) + 1) for some in combinations(points, count)]


def _is_printed_alike(line: Line, printed: Line) -> bool:
    """Returns true if slope and intercept of a line, rounded or cut off, are the printed ones."""
    pairs = ((line.slope, printed.slope), (line.intercept, printed.intercept))
    return all(agreement(number, str(other)) == "as-printed" for number, other in pairs)


def density() -> DerivedTable:
    """Table 5.3's last column."""
    rows = Rows(PRINTED["5.3"])
    densities = [point.power_mw / point.area_um2 * 1e3 for point in given.ASIC_POINTS]
    for point, found in zip(given.ASIC_POINTS, densities, strict=True):
        rows.add(
            f"{point.modules} module{'s' if point.modules > 1 else ''}", "density [W/mm2]", found,
            f"{point.power_mw} mW / {point.area_um2 / 1e3:g}k um2",
        )  # fmt: skip
    mean = sum(densities) / len(densities)
    rows.add(
        "all", "mean density [W/mm2]", mean, "mean of the five",
        f"the text's \"approximately 0.15\" is that of 16 modules; the mean rounds to {mean:.2f}",
    )  # fmt: skip
    return rows.table("5.3", "power density of the ASIC")
