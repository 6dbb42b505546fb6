"""Tables 6.1 and 6.2 and section 6.1 of the thesis: the implementations next to each other, and the requirements of
25.6 GB/s.
"""

from casemate.crypto.feasibility import BITS, LINE_BYTES, engine_mbps, gigabits, instances, software_mbps
from casemate.reproduce.derivation import Rows
from casemate.reproduce.gcm import engines
from casemate.reproduce.gcm import parameters as given
from casemate.reproduce.gcm.engines import ASIC, ASIC_FITTED, MHZ, TYPICAL
from casemate.reproduce.gcm.printed import PRINTED
from casemate.schemas.derivation import DerivedTable

LINE_BITS = LINE_BYTES * BITS
ELSEWHERE = (
    "Intel measured it on a Westmere server (TDP of 35 to 130 W) on buffers of 16 KB, four blocks at once; Table 6.1 "
    "compares it with lines of 64 B, at the other processor's clock and TDP"
)
FPGA_MAX, FPGA = "FPGA at 212 MHz", "FPGA at 200 MHz"
HARDWARE = (
    ("ASIC", ASIC, given.POWER["ASIC"].clock_hz),
    (FPGA_MAX, TYPICAL, given.FPGA_MAX_HZ),
    (FPGA, TYPICAL, given.POWER["FPGA, typical"].clock_hz),
)
"""Names, engines and clocks of the hardware in Table 6.1. The FPGA occurs twice: at the clock of its power estimate,
and at its highest clock.
"""


def summary() -> DerivedTable:
    """Returns Table 6.1, the comparison of software, FPGA and ASIC."""
    rows = Rows(PRINTED["6.1"])
    for name, engine, clock_hz in HARDWARE:
        mbps, power = engine.mbps(clock_hz), engine.power_mw.slope
        rows.add(
            name, "cycles per byte", given.LINE_CLOCKS / LINE_BYTES, f"{given.LINE_CLOCKS} clocks / {LINE_BYTES} B"
        )
        rows.add(
            name,
            "throughput [Mb/s]",
            mbps,
            f"{LINE_BITS} bit x {clock_hz / MHZ:g} MHz / {given.LINE_CLOCKS}, equation 6.2",
        )
        remark = None
        if name == FPGA:
            remark = (
                "Table 6.1 is headed 200 MHz and its power is of 200 MHz; its Mbps/mW is that of "
                f"{given.FPGA_MAX_HZ / MHZ:g} MHz, the highest clock"
            )
        rows.add(name, "Mbps/mW", mbps / power, f"throughput / {power} mW, the slope of the power", remark)
        if engine is ASIC:
            fitted = ASIC_FITTED.power_mw.slope
            rows.add(
                "ASIC, our fit", "Mbps/mW", mbps / fitted, f"throughput / {fitted:.2f} mW",
                "with the slope of least squares of Table 5.3 instead of equation 5.3's",
            )  # fmt: skip
    _software(rows)
    note = "Power: the slopes of equations 5.1 and 5.3, and for software the TDP of a processor for one core."
    return rows.table("6.1", "the implementations, on lines of 64 B with tags", note)


def _software(rows: Rows) -> None:
    for software in given.SOFTWARE:
        mean = software.cycles_per_byte
        two = software.seal != software.open
        rows.add(
            software.name, "cycles per byte", mean, f"mean of {software.seal} and {software.open}" if two else "stated",
            ELSEWHERE if software.name == "x86, ISA extension" else None,
        )  # fmt: skip
        mbps = software_mbps(software.clock_hz, mean)
        alpha = (
            f"the text of section 4.3 states less than its {mean:g} cycles per byte give; Table 6.1's Mbps/mW follow "
            "from these"
        )
        rows.add(
            software.name, "throughput [Mb/s]", mbps,
            f"8 bit x {software.clock_hz / MHZ:g} MHz / {mean:.4g}, equation 6.1",
            alpha if software.name == "Alpha" else None,
        )  # fmt: skip
        shared = software.power_w == given.X86_TDP_W
        rows.add(
            software.name, "Mbps/mW", mbps / (software.power_w * 1e3), f"throughput / {software.power_w:g} W",
            f"one core's throughput by the power of a processor with {given.X86_CORES}: {given.X86_CORES} times as "
            "much if all cores work" if shared else None,
        )  # fmt: skip


def bandwidths() -> DerivedTable:
    """Returns Table 6.2, the memory bandwidths of systems, with the engines that protect them."""
    rows = Rows(PRINTED["6.2"])
    for name, gbs in (("Intel", given.PEAK_GBS), ("AMD", given.AMD_GBS)):
        rows.add(name, "bandwidth [Gb/s]", gigabits(gbs), f"{gbs:g} GB/s x 8 bit")
    mbps = ASIC.mbps(ASIC.clock_hz)
    for name, gbs in given.MOBILE_GBS.items():
        modules = instances(gbs, mbps)
        rows.add(name, "modules of the ASIC", modules, f"{gbs:g} GB/s / {mbps:.1f} Mb/s")
        power, area = ASIC.power_w(modules, ASIC.clock_hz), ASIC.area_mm2(modules)
        assert area is not None
        rows.add(name, "their power [mW]", 1e3 * power, f"equation 5.3 at {modules}")
        rows.add(name, "their area [mm2]", area, f"equation 5.5 at {modules}")
    return rows.table(
        "6.2", "memory bandwidths, and the modules that carry them", "The thesis prints only the bandwidths."
    )


def feasibility() -> DerivedTable:
    """Returns section 6.1, the cores or engines, power and area for 25.6 GB/s."""
    rows = Rows(PRINTED["section-6.1"])
    peak = given.PEAK_GBS
    for software in given.SOFTWARE:
        mbps = software_mbps(software.clock_hz, software.cycles_per_byte)
        cores = instances(peak, mbps)
        rows.add(
            software.name, "cores", cores, f"{gigabits(peak):g} Gb/s / {mbps:.4g} Mb/s",
            _five_hundred_ninety() if software.name == "x86, C" else None,
        )  # fmt: skip
        rows.add(software.name, "power [W]", cores * software.power_w, f"{cores} x {software.power_w:g} W")
    for name, engine, clock_hz in HARDWARE:
        mbps = engine.mbps(clock_hz)
        rows.add(
            name, "modules", instances(peak, mbps), f"{gigabits(peak):g} Gb/s / {mbps:.4g} Mb/s",
            f"the text's number is that of {given.FPGA_MAX_HZ / MHZ:g} MHz" if name == FPGA else None,
        )  # fmt: skip
    _at_printed_numbers(rows)
    _device(rows)
    return rows.table("section-6.1", f"what {peak:g} GB/s take")


def _five_hundred_ninety() -> str:
    """Returns the remark on an input that would give the printed number of cores for portable C."""
    clock, peak = given.X86_CLOCK, given.PEAK_GBS * 1e9
    printed = float(PRINTED["section-6.1"]["x86, C", "cores"].lstrip("~"))
    of_decrypting = (given.C_OPEN[32] + given.C_OPEN[64]) / 2
    rounded = float(PRINTED["6.1"]["x86, C", "cycles per byte"])
    return (
        f"Table 6.1's {rounded:g} cycles per byte give {peak * rounded / clock:.1f}; {printed:g} cores need "
        f"{printed * clock / peak:.1f} cycles per byte, which the thesis states nowhere. The mean of "
        f"decrypting 32 B and 64 B is {of_decrypting:.1f} and gives {peak * of_decrypting / clock:.1f}: perhaps by "
        "chance"
    )


def _at_printed_numbers(rows: Rows) -> None:
    """Adds power and area, by the thesis's equations, for the rounded numbers of modules in its text."""
    printed = PRINTED["section-6.1"]
    fpga, asic = (int(printed[name, "modules"].lstrip("~")) for name in (FPGA_MAX, "ASIC"))
    line = TYPICAL.power_mw
    watts = float(printed["FPGA", f"power of {fpga}"].lstrip("~"))
    rows.add(
        "FPGA", f"power of {fpga} [W]", line.at(fpga) / 1e3, f"equation 5.1 at {fpga}",
        f"{watts} W are those of {(1e3 * watts - line.intercept) / line.slope:.1f} modules; no cause found",
    )  # fmt: skip
    rows.add("ASIC", f"power of {asic} [W]", ASIC.power_mw.at(asic) / 1e3, f"equation 5.3 at {asic}")
    area = ASIC.area_mm2(asic)
    assert area is not None
    rows.add("ASIC", f"area of {asic} [mm2]", area, f"equation 5.5 at {asic}")


def _device(rows: Rows) -> None:
    """Adds the check that the FPGA has room for the modules: "would not be able to be synthesized into the particular
    FPGA".
    """
    modules = instances(given.PEAK_GBS, engine_mbps(given.FPGA_MAX_HZ, given.LINE_CLOCKS))
    for kind, line in given.FPGA_FITS.items():
        rows.add(
            "FPGA", f"{kind} of all modules, of the largest Kintex 7 [%]",
            100 * line.at(modules) / given.LARGEST_KINTEX[kind],
            f"equation 5.4 at {modules} / {given.LARGEST_KINTEX[kind]:,}",
        )  # fmt: skip


def conclusion() -> DerivedTable:
    """Returns chapter 8: the number of modules in about a square millimetre."""
    rows = Rows({})
    area = engines.ASIC.area_um2
    assert area is not None
    modules = int((1e6 - area.intercept) / area.slope)
    rows.add("ASIC in 1 mm2", "modules", modules, f"(1e6 - {area.intercept:g}) / {area.slope:g}")
    rows.add(
        "ASIC in 1 mm2", "power [mW]", ASIC.power_mw.at(modules), f"equation 5.3 at {modules}",
        "chapter 8 says \"a few dozens of mW\" with \"approximately 1 mm2\": "
        f"by its equations a square millimetre is {modules} modules and takes more than that",
    )  # fmt: skip
    return rows.table("chapter-8", "a small number of modules")
