# %% [markdown]
# # Your own design, and attacks on it
#
# A design is a file with one part of each kind: a cipher, counters, an authentication code, a tree. This notebook
# reads the design `design.toml`, which is in the same folder, `examples/`. It attacks the design, takes its tree away,
# and measures the cost of the tree.

# %%
from pathlib import Path
from tempfile import mkdtemp

import casemate as cm

FOLDERS = (Path(globals().get("__file__", "")).parent, Path("examples"))
HERE = next((folder for folder in FOLDERS if (folder / "design.toml").exists()), None)
if HERE is None:
    raise SystemExit("own_design.py needs design.toml: run it in its folder, examples/")
DESIGN = str(HERE / "design.toml")
print(Path(DESIGN).read_text())

# %% [markdown]
# Casemate fills in all other keys. The result of `design` has every value, and the weak choices of the design that a
# reviewer would object to.

# %%
mine = cm.design(DESIGN)
mine

# %% [markdown]
# ## Attacks
#
# The attacker owns the memory and the bus. It cannot reach the chip. The class of the design, C4, claims the worst end
# of each attack, and a campaign compares the claims with the ends: each attack runs 20 times here, with other keys and
# other lines each time. An end that is worse than its claim would have a red mark.

# %%
report = cm.attack(DESIGN, trials=20)
report

# %% [markdown]
# The same as a picture. A dash is an attack that has no target in the design.

# %%
report.plot()

# %% [markdown]
# ## The same design without its tree
#
# Which attacks does the tree stop? `changes` replaces one key, and leaves the claims as they are.

# %%
without = cm.attack(DESIGN, trials=20, changes={"design.parts.tree.kind": "none"})
[row for row in without.rows if not row.agrees]

# %% [markdown]
# Each of these attacks replays a line together with its tag and its counter, or suppresses a write. The tag of the old
# line is right, so only the tree can detect the replay. The report also has the first trial of each end. Its seed
# repeats the trial: `casemate attack examples/design.toml --with design.parts.tree.kind=none --row
# replay-data-tag-counter --replay 1`.

# %%
replay = next(row for row in without.rows if row.attack == "replay-data-tag-counter")
replay.histogram, replay.telling()

# %% [markdown]
# ## Cost of the tree
#
# A design without freshness belongs to class C3. To compare both designs in one run, each needs a file and a name. The
# workload `gups` updates random words of a table, so that nearly each access needs other tree nodes.

# %%
text = Path(DESIGN).read_text()
for before, after in (('"mine"', '"mine-without-tree"'), ('"bonsai"', '"none"'), ('"C4"', '"C3"')):
    text = text.replace(before, after)
treeless = Path(mkdtemp()) / "mine-without-tree.toml"
treeless.write_text(text)

result = cm.run(
    cm.BuiltIn("gups", {"footprint": "256 MB"}),
    designs=["none", str(treeless), DESIGN],
    options=cm.RunOptions(limit="60K", protection=False),
)
result

# %%
result.plot()

# %% [markdown]
# ## Where its metadata is stored
#
# Counters, tags and the levels of the tree take a part of memory. The root of the tree stays on the chip.

# %%
cm.layout(DESIGN)

# %% [markdown]
# `study.toml` runs this design with several speeds of the AES unit: `casemate sweep examples/study.toml`. Next to
# attacks on a running machine there are losses of power: `cm.crash("plp-sp")` cuts the power at every point of a write.
