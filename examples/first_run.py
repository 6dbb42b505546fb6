# %% [markdown]
# # First run
#
# This notebook runs a program under two designs for memory protection, and shows their cost and its causes. It takes
# a few seconds. Open it in JupyterLab with jupytext, or in Visual Studio Code, which opens files with `# %%` as
# notebooks. It needs `machine.toml`, which is in the same folder, `examples/`.

# %%
from pathlib import Path

import casemate as cm

FOLDERS = (Path(globals().get("__file__", "")).parent, Path("examples"))
HERE = next((folder for folder in FOLDERS if (folder / "machine.toml").exists()), None)
if HERE is None:
    raise SystemExit("first_run.py needs machine.toml: run it in its folder, examples/")
MACHINE = str(HERE / "machine.toml")

# %% [markdown]
# ## Cost
#
# `bfs` is a built-in workload: a breadth-first search in a graph with 2^14 vertices. Each design receives the same
# instructions and the same bytes. The design `none` has no protection and is the baseline. `ctr-mac-version` encrypts
# each line and authenticates it by a tag. `sc64-bmt` adds a tree that detects replayed lines.
#
# A command is as good as a workload: `cm.run(["gzip", "-9", "-c", "/usr/bin/python3"])` runs a program of this
# computer, and needs QEMU.

# %%
bfs = cm.BuiltIn("bfs", {"scale": 14})
result = cm.run(bfs, designs=["none", "ctr-mac-version", "sc64-bmt"], options=cm.RunOptions(limit="300K"))
result

# %% [markdown]
# The last rows belong to the built-in check: the simulator decrypts each line that it reads, and compares it with the
# bytes that the program stored last. Every figure of the table is also a field or a method of the result.

# %%
result.slowdown("sc64-bmt"), result.record("sc64-bmt").read_latency_ns

# %% [markdown]
# ## Where the time goes
#
# Each bar contains the cycles of a design by their cause. A design's bar is as long as its slowdown. The difference
# from the bar of `none` is the cost of the design.

# %%
result.plot()

# %% [markdown]
# ## Why one read takes longer
#
# `explain` times reads of 999 lines, and shows the median one: every fetch, pad and hash, with its waits. Solid bars
# are the critical path. Below the pictures, a table compares the critical paths of both designs.

# %%
cm.explain_together(["sc64-bmt", "ctr-mac-version"])

# %% [markdown]
# The tree nodes are the expensive part of this read. They are on the chip if an earlier read has fetched them:

# %%
cold, warm = (cm.explain("sc64-bmt", cm.Read(on_chip=state)) for state in ("nothing", "tree"))
f"{cold.latency_ns:.1f} ns without, {warm.latency_ns:.1f} ns with the tree on the chip"

# %% [markdown]
# ## Another machine
#
# A machine is a file, as a design is. `machine.toml` has a small cache and one slow AES unit. A key can also have
# another value for one run: `changes` takes the keys of `docs/KEYS.md`.

# %%
options = cm.RunOptions(limit="300K", protection=False)
slow = cm.run(bfs, machine=MACHINE, options=options)
fast = cm.run(bfs, machine=MACHINE, changes={"machine.engines.aes.latency_ns": 10}, options=options)
slow.slowdown("sc64-bmt"), fast.slowdown("sc64-bmt")

# %% [markdown]
# The notebook `own_design.py` continues with a design of your own, and attacks it.
