"""The thesis's Table 6.1 with rows of this computer, and the verdict on its conclusion that software is infeasible."""

from collections.abc import Iterator, Sequence
from statistics import fmean

from casemate import built
from casemate.crypto.feasibility import BITS, LINE_BYTES, instances, software_mbps
from casemate.reproduce.gcm import engines as thesis
from casemate.reproduce.gcm import parameters as given
from casemate.schemas.bench import CryptoEngine, CryptoPower, CryptoRow, Implementation
from casemate.text import amounts

ASIC, FPGA = "ASIC, 45 nm", "FPGA, Kintex 7"
ALONE = "a line"
"""End of the names of rows on single lines."""


def implementations(
    rows: Sequence[CryptoRow], engines: Sequence[CryptoEngine], bandwidth_gbs: float
) -> tuple[Implementation, ...]:
    """Returns Table 6.1: the thesis's rows by the thesis's formulas, then one row for each engine on this computer, on
    single lines. Engines that process many lines at once have a second row, for the measured number of lines.
    """
    return (*_of_thesis(bandwidth_gbs), *_of_today(rows, engines, bandwidth_gbs))


def _of_thesis(bandwidth_gbs: float) -> Iterator[Implementation]:
    for name, engine in ((ASIC, thesis.ASIC), (FPGA, thesis.TYPICAL)):
        mbps, slope = engine.mbps(engine.clock_hz), engine.power_mw.slope
        count = instances(bandwidth_gbs, mbps)
        yield Implementation(
            name=name, is_today=False, clock_mhz=engine.clock_hz / 1e6,
            cycles_per_byte=given.LINE_CLOCKS / LINE_BYTES, mbps=mbps, power_w=slope / 1e3, mbps_per_mw=mbps / slope,
            instances=count, total_w=engine.power_w(count, engine.clock_hz),
        )  # fmt: skip
    for software in given.SOFTWARE:
        mbps = software_mbps(software.clock_hz, software.cycles_per_byte)
        count = instances(bandwidth_gbs, mbps)
        yield Implementation(
            name=software.name, is_today=False, clock_mhz=software.clock_hz / 1e6,
            cycles_per_byte=software.cycles_per_byte, mbps=mbps, power_w=software.power_w,
            mbps_per_mw=mbps / (1e3 * software.power_w), instances=count, total_w=count * software.power_w,
        )  # fmt: skip


def _of_today(
    rows: Sequence[CryptoRow], engines: Sequence[CryptoEngine], bandwidth_gbs: float
) -> Iterator[Implementation]:
    for engine in engines:
        sizes = sorted({row.message_bytes for row in rows if row.engine == engine.name})
        shown = {LINE_BYTES: ALONE} if LINE_BYTES in sizes else {}
        if engine.unit_bytes and sizes and sizes[-1] > engine.unit_bytes:
            shown[sizes[-1]] = f"{sizes[-1] // engine.unit_bytes} lines"
        for size, size_text in shown.items():
            both = [row for row in rows if (row.engine, row.message_bytes) == (engine.name, size)]
            per_byte, clock_hz = fmean(row.cycles_per_byte for row in both), fmean(row.clock_hz for row in both)
            # Like the thesis, compute the throughput from the mean cycles of both directions; do not average two
            # throughputs.
            mbps = software_mbps(clock_hz, per_byte)
            watts = [row.watts for row in both if row.watts]
            count, power = instances(bandwidth_gbs, mbps), fmean(watts) if watts else None
            yield Implementation(
                name=f"{engine.name}, {size_text}", is_today=True, clock_mhz=clock_hz / 1e6, cycles_per_byte=per_byte,
                mbps=mbps, power_w=power, mbps_per_mw=mbps / (1e3 * power) if power else None, instances=count,
                total_w=count * power if power else None,
            )  # fmt: skip


def conclusion(found: Sequence[Implementation], power: CryptoPower, bandwidth_gbs: float, built_as: str) -> str:
    """Returns the verdict on "software is infeasible", with a caveat in front if this build is slow."""
    caveat = "" if built.is_fast(built_as) else f"With the build '{built_as}', slower than with `make build`: "
    return caveat + _conclusion(found, power, bandwidth_gbs)


def _conclusion(found: Sequence[Implementation], power: CryptoPower, bandwidth_gbs: float) -> str:
    today = [each for each in found if each.is_today]
    alone = [each for each in today if each.name.endswith(ALONE)]
    if not alone:
        return f"Lines of {LINE_BYTES} bytes were not measured, so the thesis's conclusion cannot be checked."
    then = max(
        (each for each in found if not each.is_today and each.name.startswith("x86")), key=lambda each: each.mbps
    )
    asic = next(each for each in found if each.name == ASIC)
    best, quick = (max(some, key=lambda each: each.mbps) for some in (today, alone))
    by_line = "" if best is quick else f", and {quick.instances} line by line ({quick.name})"
    said = [
        f"{bandwidth_gbs:g} GB/s take {amounts.counted(best.instances, 'core')} of this processor ({best.name})"
        f"{by_line}, where the thesis's fastest software takes {then.instances:,}."
    ]
    if power.cores:
        share = 100 * quick.instances / power.cores
        if share <= 100:
            fits = (
                f"{share:.1f} % of the processor's {power.cores} cores, so their number no longer makes it infeasible"
            )
        else:
            fits = f"more than the {amounts.counted(power.cores, 'core')} that the processor has"
        said.append(f"Line by line that is {fits}.")
    if best.total_w and quick.total_w and asic.total_w:
        watts = " to ".join(dict.fromkeys(_watts(each.total_w or 0) for each in (best, quick)))
        times = " to ".join(dict.fromkeys(_times((each.total_w or 0) / asic.total_w) for each in (best, quick)))
        theirs = f"the {_watts(asic.total_w)} W of the thesis's ASIC of 45 nm"
        said.append(f"They are charged with {watts} W, {times} times {theirs}.")
    waits = LINE_BYTES * BITS / quick.mbps * 1e3
    said.append(f"A single line takes {waits:.0f} ns, and a miss would wait for it; the thesis counts only throughput.")
    return " ".join(said)


def _times(ratio: float) -> str:
    return f"{ratio:,.1f}" if ratio >= 1 else f"{ratio:.2g}"


def _watts(watts: float) -> str:
    return f"{watts:,.0f}" if watts >= 100 else f"{watts:.3g}"
