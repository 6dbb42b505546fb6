"""Cost of hardware: any RTL through synthesis, timing, gate-level activity and energy, the same way for every core.

    sources --> synthesis --> netlist --> fan-out --> timing (Fmax)
                  |                          |
                  |                          +--> area, cells, flops
                  v                          v
                 xc7                gate simulation <-- the port values of every cycle <-- RTL simulation <-- stimulus
                                             |                                                  |
                                             v                                                  v
                                    energy of each line                                  cycles of each line

A figure of a single core has little meaning: libraries, scripts and assumptions about wires decide it as much as the
core does. So this package is one chain without settings for a single core, and a published core is priced by running
its RTL through the same chain. docs/systems/gcm-engine-cost.md lists the modelled effects and the omitted ones.

Each file is a step that does not depend on the next one. First are `tools` (finds and contains programs), `sources` and
`design` (the input), `liberty` and `library` (the cell library), then `synthesis`, `fabric`, `netlist`, `fanout`,
`timing`. The last are `stimulus`, `rtl_simulation`, `gate_simulation`, `energy`, and `flow` (their order, with a store
of results). Other parts of Casemate do not import this package.
"""
