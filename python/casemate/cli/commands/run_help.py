"""Text below the options of `casemate run --help`."""

EPILOG = """\b
Examples:
  casemate run -- gzip -9 -c /usr/bin/python3
      The program as it runs now, unprotected and under sc64-bmt: its first 20 million instructions.
  casemate run --design none --design ctr-mac-version --design sc64-bmt --limit 100M -- ./prog args
      Three designs on one execution of the program.
  casemate run --workload bfs --set scale=20 --limit 50M --output results/
      A built-in workload; one JSON record per design is written to results/.
  casemate run --detail sampled -- sqlite3 :memory: < big.sql
      All of a long program: some units of it in detail, the remainder warmed. Figures have 95 % intervals.
  casemate run --trace prog.trace --design mine.toml --json
      A stored execution, a design file of your own, one JSON object on standard output. Traces of ChampSim, Ramulator
      and DRAMsim3 are recognised by content (docs/TRACE_FORMAT.md).
  casemate run --workload bfs --with machine.engines.aes.latency_ns=25 --with design.parts.caches.counters="256 KB"
      The machine with slower AES units, and the designs with a larger counter cache.
  casemate run --workload bfs --design ctr-mac-version --design sc64-bmt --with design.sc64-bmt.parts.caches.ways=16
      Two designs, one of them changed.
  casemate run --workload bfs --machine modern --machine modern-ddr5
      Two machines side by side, each with both designs.
  casemate run --workload gups --design none --design morphable --age steady
      Counters begin in the middle of a long life, so that some overflow from the start.
  casemate run --machine emcc-4core --workload bfs --copies 4
      The same workload on each of four cores, each in separate memory.
  casemate run --machine emcc-4core --workload bfs --workload gups --trace prog.trace
      Three programs side by side, which share the last-level cache and memory.
  casemate run --workload gups --design sc64-bmt --limit 1M --bus gups.bus --bus-bytes
      Lines that cross the pins of memory are written to gups.bus, with their bytes; `casemate bus gups.bus` shows them.
  casemate run --workload gups --design sc64-bmt --limit 1M --trace-window 20us:5us -o gups.json
      Work of every unit in five microseconds, for https://ui.perfetto.dev; `casemate excerpt gups.json` draws it.
  casemate run --workload bfs --limit 40M --interval 1M --intervals bfs.csv
      The phases of the program: a row for each million instructions under each design, for pandas.read_csv("bfs.csv").
  casemate run --workload log --limit 1M --power-loss random --losses 20
      Cuts the power of the whole machine twenty times, and compares the recovered memory with the stores.
  casemate run --workload log --limit 1M --power-loss random --tamper 10 --design plp-sp --design eadr
      The same once, and an attacker flips a bit in ten stored lines before recovery: plp-sp must detect it.
  casemate run --workload btree --design none --limit 20M --values 8 --values 16 --values 32
      Predictability of the values in memory, as in figures 5 and 6 of the paper on frequent values.

\b
How to read the table:
  head              values that decide the figures: the placement of pages, the prefetchers, and for each design the
                    code of its tags, the time from the arrival of a line to the end of its check (on an idle machine,
                    with all metadata on the chip), and the size of its metadata caches
  slowdown over     simulated time over that of the baseline, which the row names: the design 'none', or the first
                    design, on the same machine; of one design on several machines, its run on the first. A design that
                    ran without a baseline has "-"
  mostly for        main cause of the slowdown: the wait of cores that grew most, or shrank most if the design is
                    faster (--verbose has all parts)
  read latency      mean time from the last-level cache's miss to the arrival of the line in it
  attacks stopped   kinds of attack that the design stops, of those that apply to it (see `casemate attack`)
  speculation       guesses of the content of lines: words from memory that the design's table contained, and chunks
                    with a candidate before they arrived, before decryption, after decryption, or without a candidate
  lines that move   permutations of page chunks, and lines that readers fetched for each; lines that crossed the bus
                    for each fetched line, and records that walks of the tree fetched. Between two permutations of a
                    page chunk each of its slots crosses the bus once each way: the last two rows count violations of
                    that
  persist buffer    stores of the program that entered it in a thousand instructions (PPTI), and stores per entry that
                    they allocated (NWPE); the share of the cores' cycles in which a store found no free entry, or
                    awaited its early steps. Under strict persistency at the memory controller, as in plp-sp, each store
                    has a separate entry on its way to the controller
  epochs            lines that the program flushed, persist fences, and fences that waited for a flush, in designs where
                    fences order the writes at the memory controller, or that do not order them
  lines compared    lines read from memory, compared with the written ones; a wrong one is an error of the simulation

\b
On a machine of several cores, a program's threads and processes are dealt to the cores, and several programs get cores
in turn. Each program runs to its end or its limit, and its cores are idle from then. The order in which threads reach
memory is the simulated one: values that race may differ from those recorded (--check-values).


Repeated string instructions count once for each repetition while recording (--limit, --skip), and once when simulated.

\b
With --power-loss the whole machine stops: cores, store queues, caches, writes on their way to memory. In a design
with a battery the controller first completes the operations that it has begun, and the battery drains. A fresh chip
recovers, and every line is compared with an account of the program's stores that shares no code with the simulation.
Then the machine stores more, and power fails once more. With --tamper, a separate chip recovers a copy of the memory
with the flipped bits; it may refuse lines, and must not release a wrong line if the design claims detection. On
several cores each core's stores are judged in the order of its program: a recording fixes values, the machine fixes
times, and threads are not tied to each other yet.

\b
Exit codes: 0 fine, 1 a check failed or could not be made, 2 bad input, 130 Ctrl-C, 143 SIGTERM (results of the part
that was run are kept). A program that dies by a signal is no failure: its results are kept and name the signal; the
last thousands of instructions of each thread may be missing. Casemate ends all processes that the program started.
"""
