"""Derived figures as the thesis prints them, digit by digit, for comparison with ours. No formula reads them, with one
exception: the rounded numbers of modules in section 6.1, since we compute power and area for the same numbers.

The keys are the table, equation or section; then the subject of the figure and its quantity. A `~` is the text's
"approximately".
"""

from collections.abc import Mapping

C, ASSEMBLY, ISA = "x86, C", "x86, assembly", "x86, ISA extension"

PRINTED: Mapping[str, Mapping[tuple[str, str], str]] = {
    "section-2.3": {("Yan et al.", "engines together"): "1.5", ("Lee et al.", "modules side by side"): "4"},
    "section-3.1": {
        ("AES-128", "expanded key"): "1280",
        ("AES-192", "expanded key"): "1536",
        ("AES-256", "expanded key"): "1792",
    },
    "4.1": {
        ("64 B, encrypt", "throughput"): "568",
        ("64 B, decrypt", "throughput"): "432",
        ("OpenSSL, CBC", "cycles per byte"): "25",
        ("OpenSSL, IGE", "cycles per byte"): "27",
    },
    "5.1": {
        ("open source", "line and tag"): "123",
        ("commercial", "line and tag"): "60",
        ("multiplier", "block"): "8",
    },
    "5.2": {
        ("FPGA, typical", "total"): "351",
        ("FPGA, worst", "total"): "601",
        ("ASIC", "total"): "12.384",
    },
    "equations-5.1-5.5": {
        ("FPGA, typical", "power of 1"): "351",
        ("FPGA, worst", "power of 1"): "601",
        ("ASIC", "power, slope"): "11.05",
        ("ASIC", "power, intercept"): "2.12",
        ("ASIC", "area, slope"): "74125",
        ("ASIC", "area, intercept"): "34762",
        ("ASIC", "power of 1"): "12.383",
        ("ASIC", "power of 16"): "183.162",
        ("FPGA", "FF of one more"): "~1500",
        ("FPGA", "LUT of one more"): "~2400",
    },
    "5.3": {
        ("1 module", "density"): "0.139",
        ("2 modules", "density"): "0.140",
        ("4 modules", "density"): "0.142",
        ("8 modules", "density"): "0.145",
        ("16 modules", "density"): "0.152",
        ("all", "mean density"): "~0.15",
    },
    "6.1": {
        ("ASIC", "cycles per byte"): "1.9",
        ("FPGA at 212 MHz", "cycles per byte"): "1.9",
        (C, "cycles per byte"): "44",
        (ASSEMBLY, "cycles per byte"): "22",
        (ISA, "cycles per byte"): "3.5",
        ("Alpha", "cycles per byte"): "41",
        ("ARM", "cycles per byte"): "63.5",
        ("ASIC", "Mbps/mW"): "84.7",
        ("FPGA at 212 MHz", "Mbps/mW"): "4.57",
        ("FPGA at 200 MHz", "Mbps/mW"): "4.57",
        (C, "Mbps/mW"): "0.0140",
        (ASSEMBLY, "Mbps/mW"): "0.0281",
        (ISA, "Mbps/mW"): "0.176",
        ("Alpha", "Mbps/mW"): "0.00186",
        ("ARM", "Mbps/mW"): "0.063",
        # The table's row of throughputs is illegible in our copy of the thesis; these two values are in its text.
        ("Alpha", "throughput"): "170",
        ("ARM", "throughput"): "126",
    },
    "6.2": {("Intel", "bandwidth"): "204", ("AMD", "bandwidth"): "168"},
    "section-6.1": {
        (C, "cores"): "~590",
        (ASSEMBLY, "cores"): "~210",
        (ISA, "cores"): "~34",
        ("ARM", "cores"): "~1600",
        ("FPGA at 212 MHz", "modules"): "~230",
        ("FPGA at 200 MHz", "modules"): "~230",
        ("FPGA", "power of 230"): "~44.7",
        ("ASIC", "modules"): "~220",
        ("ASIC", "power of 220"): "~2.4",
        ("ASIC", "area of 220"): "~16.3",
    },
}
