"""Cost of hardware: any RTL through synthesis, timing, gate-level activity and energy, the same way for every core.

    sources --> synthesis --> netlist --> fan-out --> timing (Fmax)
                  |                          |
                  |                          +--> area, cells, flops
                  v                          v
                 xc7                gate simulation <-- the port values of every cycle <-- RTL simulation <-- stimulus
                                             |                                                  |
                                             v                                                  v
                                    energy of each line                                  cycles of each line

A figure of a single hardware core has little meaning: cell libraries, scripts and assumptions about wires decide it as
much as the core does. So this package is one flow without settings for a single core. To compare with a published core,
run its RTL through the same flow. docs/systems/gcm-engine-cost.md lists the modelled effects and the omitted ones.

Each file is a step that does not depend on later steps. First are `tools` (finds and contains programs), `sources` and
`design` (the input), `liberty` and `library` (the cell library), then `synthesis`, `fabric`, `netlist`, `fanout`,
`timing`. The last are `stimulus`, `rtl_simulation`, `gate_simulation`, `energy`, and `flow` (their order, with a store
of results). Other parts of Casemate do not import this package.
"""
