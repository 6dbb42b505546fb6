"""What hardware costs: any RTL through synthesis, timing, gate-level activity and energy, the same way for every core.

    sources --> synthesis --> netlist --> fan-out --> timing (Fmax)
                  |                          |
                  |                          +--> area, cells, flops
                  v                          v
                 xc7                gate simulation <-- the port values of every cycle <-- RTL simulation <-- stimulus
                                             |                                                  |
                                             v                                                  v
                                    energy of each line                                  cycles of each line

A figure of one core says little: libraries, scripts and assumptions about wires decide it as much as the core does. So
everything here is one chain with nothing to set for a single core, and a published core is priced by running its RTL
through the same chain. What is modelled and what is not is in docs/systems/gcm-engine-cost.md.

Each file is a step, and none knows how the next one works: `tools` (finds and contains programs), `sources` and
`design` (what is priced), `liberty` and `library` (the cell library), `synthesis`, `fabric`, `netlist`, `fanout`,
`timing`, `stimulus`, `rtl_simulation`, `gate_simulation`, `energy`, `flow` (their order, with a store of what was
done). Nothing of it is imported by the rest of Casemate.
"""
