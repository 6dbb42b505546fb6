"""Figures of the thesis' tables, worked out by hand from its parameters, for the test of `casemate reproduce gcm`.

Each figure is calculated with a pocket calculator, by the formula in the comment. The inputs are the thesis's
measurements: its Tables 4.1, 5.1 to 5.3 and 6.1 and its equations 5.1 to 5.5. No figure was copied from Casemate's
output. The keys are the table, the subject of the figure, and its quantity.
"""

# A line through five points (x, y): slope = (5 Sxy - Sx Sy) / (5 Sxx - Sx Sx), intercept = (Sy - slope Sx) / 5.
# Table 4.1, y = bytes x cycles per byte: Sx = 992, Sxx = 349184, 5 Sxx - Sx Sx = 761856;
#   encrypting Sy = 28896.0, Sxy = 9304678.4, decrypting Sy = 36755.2, Sxy = 11931443.2.
# Table 5.3: Sx = 31, Sxx = 341, 5 Sxx - Sx Sx = 744; of power Sy = 364.278, Sxy = 3949.551, of area Sy = 2469,
#   Sxy = 26333 in thousands.
FIGURES = [
    ("section-2.3", "Yan et al.", "engines together", 1.536),
    ("section-2.3", "Lee et al.", "modules side by side", 4),
    ("section-3.1", "AES-128", "expanded key", 1408),
    ("section-3.1", "AES-192", "expanded key", 1664),
    ("section-3.1", "AES-256", "expanded key", 1920),
    ("4.1", "64 B, encrypt", "throughput", 568.42),
    ("4.1", "all sizes, encrypt", "cycles per byte", 23.44086),  # 17858560 / 761856
    ("4.1", "all sizes, encrypt", "cycles of a call", 1128.533),
    ("4.1", "64 B, decrypt", "throughput", 432.0),
    ("4.1", "all sizes, decrypt", "cycles per byte", 30.44677),  # 23196057.6 / 761856
    ("4.1", "all sizes, decrypt", "cycles of a call", 1310.4),
    ("4.1", "OpenSSL, CBC", "cycles per byte", 25.6837),  # 21600 / 841
    ("4.1", "OpenSSL, IGE", "cycles per byte", 27.3418),
    ("5.1", "open source", "line and tag", 124),
    ("5.1", "open source, key kept", "line and tag", 104),
    ("5.1", "commercial", "line and tag", 60),
    ("5.1", "open source", "throughput", 882.4715),  # 512 x 212 / 123
    ("5.1", "commercial", "throughput", 2184.533),  # 512 x 256 / 60
    ("5.1", "multiplier", "block", 8),
    ("5.2", "FPGA, typical", "total", 351),
    ("5.2", "FPGA, worst", "total", 601),
    ("5.2", "ASIC", "total", 12.384),
    ("equations-5.1-5.5", "FPGA, typical", "power of 1", 409.2),
    ("equations-5.1-5.5", "FPGA, worst", "power of 1", 662.1),
    ("equations-5.1-5.5", "ASIC", "power, slope", 11.36443),  # 8455.137 / 744
    ("equations-5.1-5.5", "ASIC", "power, intercept", 2.3961),
    ("equations-5.1-5.5", "ASIC", "power of 1", 13.17),  # equation 5.3: 11.05 + 2.12
    ("equations-5.1-5.5", "ASIC", "power of 16", 178.92),  # 11.05 x 16 + 2.12
    ("equations-5.1-5.5", "ASIC", "area, slope", 74094.09),  # 55126 / 744, in thousands
    ("equations-5.1-5.5", "ASIC", "area, intercept", 34416.67),
    ("equations-5.1-5.5", "FPGA", "FF of one more", 1509.7),
    ("equations-5.1-5.5", "FPGA", "LUT of one more", 2356.2),
    ("5.3", "1 module", "density", 0.139135),  # 12.383 / 89, and so on
    ("5.3", "2 modules", "density", 0.140523),
    ("5.3", "4 modules", "density", 0.142052),
    ("5.3", "8 modules", "density", 0.145018),
    ("5.3", "16 modules", "density", 0.152128),
    ("5.3", "all", "mean density", 0.143771),
    ("6.1", "ASIC", "cycles per byte", 1.921875),  # 123 / 64
    ("6.1", "ASIC", "throughput", 936.585),  # 512 x 225 / 123
    ("6.1", "ASIC", "Mbps/mW", 84.759),  # 936.585 / 11.05
    ("6.1", "ASIC, our fit", "Mbps/mW", 82.4137),  # 936.585 / 11.36443
    ("6.1", "FPGA at 212 MHz", "cycles per byte", 1.921875),
    ("6.1", "FPGA at 212 MHz", "throughput", 882.4715),
    ("6.1", "FPGA at 212 MHz", "Mbps/mW", 4.57476),  # 882.4715 / 192.9
    ("6.1", "FPGA at 200 MHz", "cycles per byte", 1.921875),
    ("6.1", "FPGA at 200 MHz", "throughput", 832.5203),  # 512 x 200 / 123
    ("6.1", "FPGA at 200 MHz", "Mbps/mW", 4.31581),  # 832.5203 / 192.9
    ("6.1", "x86, C", "cycles per byte", 44.1),  # (37.8 + 50.4) / 2
    ("6.1", "x86, C", "throughput", 489.7959),  # 21600 / 44.1
    ("6.1", "x86, C", "Mbps/mW", 0.013994),  # 489.7959 / 35000
    ("6.1", "x86, assembly", "cycles per byte", 22),
    ("6.1", "x86, assembly", "throughput", 981.8182),  # 21600 / 22
    ("6.1", "x86, assembly", "Mbps/mW", 0.0280519),
    ("6.1", "x86, ISA extension", "cycles per byte", 3.5),
    ("6.1", "x86, ISA extension", "throughput", 6171.429),  # 21600 / 3.5
    ("6.1", "x86, ISA extension", "Mbps/mW", 0.1763265),
    ("6.1", "Alpha", "cycles per byte", 41),
    ("6.1", "Alpha", "throughput", 175.6098),  # 7200 / 41
    ("6.1", "Alpha", "Mbps/mW", 0.00186819),  # 175.6098 / 94000
    ("6.1", "ARM", "cycles per byte", 63.45),
    ("6.1", "ARM", "throughput", 126.0835),  # 8000 / 63.45
    ("6.1", "ARM", "Mbps/mW", 0.0630418),
    ("6.2", "Intel", "bandwidth", 204.8),
    ("6.2", "AMD", "bandwidth", 168.0),
    # Modules: Gb/s by 0.936585, plus one for the remainder; power by equation 5.3, area by equation 5.5.
    ("6.2", "Nexus 7", "modules of the ASIC", 46),  # 42.4 Gb/s: 45.27
    ("6.2", "Nexus 7", "their power", 510.42),
    ("6.2", "Nexus 7", "their area", 3.444512),
    ("6.2", "Nexus 10", "modules of the ASIC", 110),  # 102.4 Gb/s: 109.33
    ("6.2", "Nexus 10", "their power", 1217.62),
    ("6.2", "Nexus 10", "their area", 8.188512),
    ("6.2", "iPhone 5", "modules of the ASIC", 73),  # 68 Gb/s: 72.60
    ("6.2", "iPhone 5", "their power", 808.77),
    ("6.2", "iPhone 5", "their area", 5.445887),
    ("6.2", "iPad 3", "modules of the ASIC", 110),  # as the Nexus 10
    ("6.2", "iPad 3", "their power", 1217.62),
    ("6.2", "iPad 3", "their area", 8.188512),
    ("section-6.1", "x86, C", "cores", 419),  # 204800 / 489.7959 = 418.13
    ("section-6.1", "x86, C", "power", 14665),  # 419 x 35
    ("section-6.1", "x86, assembly", "cores", 209),  # 208.59
    ("section-6.1", "x86, assembly", "power", 7315),
    ("section-6.1", "x86, ISA extension", "cores", 34),  # 33.19
    ("section-6.1", "x86, ISA extension", "power", 1190),
    ("section-6.1", "Alpha", "cores", 1167),  # 204800 / 175.6098 = 1166.22
    ("section-6.1", "Alpha", "power", 109698),  # 1167 x 94
    ("section-6.1", "ARM", "cores", 1625),  # 1624.32
    ("section-6.1", "ARM", "power", 3250),
    ("section-6.1", "ASIC", "modules", 219),  # 218.67
    ("section-6.1", "FPGA at 212 MHz", "modules", 233),  # 232.08
    ("section-6.1", "FPGA at 200 MHz", "modules", 246),  # 246.00
    ("section-6.1", "FPGA", "power of 230", 44.5833),  # equation 5.1: 192.9 x 230 + 216.3
    ("section-6.1", "ASIC", "power of 220", 2.43312),
    ("section-6.1", "ASIC", "area of 220", 16.34226),
    # Equation 5.4 at 233, as parts of 597200, 298600 and 955.
    ("section-6.1", "FPGA", "FF of all modules, of the largest Kintex 7", 58.8643),  # 351537.6
    ("section-6.1", "FPGA", "LUT of all modules, of the largest Kintex 7", 183.8289),  # 548913.2
    ("section-6.1", "FPGA", "BRAM of all modules, of the largest Kintex 7", 195.1832),  # 1864
    ("chapter-8", "ASIC in 1 mm2", "modules", 13),  # (1000000 - 34762) / 74125 = 13.02
    ("chapter-8", "ASIC in 1 mm2", "power", 145.77),  # 11.05 x 13 + 2.12
]

# Requirements of 25.6 GB/s: modules or cores, watts, and square millimetres if an area is stated.
NEEDS = {
    "ASIC": (219, 2.42207, 16.268137),  # 11.05 x 219 + 2.12; 74125 x 219 + 34762
    "ASIC, our fit": (219, 2.491207, 16.261022),  # 11.364431 x 219 + 2.396125; 74094.086 x 219 + 34416.67
    "FPGA, typical": (246, 47.6697, None),  # 192.9 x 246 + 216.3
    "FPGA, worst": (246, 49.5151, None),  # 199.4 x 246 + 462.7
    "x86, C": (419, 14665, None),
    "x86, assembly": (209, 7315, None),
    "x86, ISA extension": (34, 1190, None),
    "Alpha": (1167, 109698, None),
    "ARM": (1625, 3250, None),
}

# Milliwatts of 8 modules at half the clock of their estimates: half of the dynamic part, plus the static part. (Table
# 5.2: the FPGA has 123 and 371 once, the ASIC 0.428 for each module.)
AT_HALF_CLOCK_MW = {
    "FPGA, typical": 941.25,  # (192.9 x 8 + 216.3 - 123) / 2 + 123
    "FPGA, worst": 1214.45,  # (199.4 x 8 + 462.7 - 371) / 2 + 371
    "ASIC": 46.972,  # (11.05 x 8 + 2.12 - 3.424) / 2 + 3.424
    "ASIC, our fit": 48.36778,  # (11.364431 x 8 + 2.396125 - 3.424) / 2 + 3.424
}
