"""A published evaluation, run again. The paper's workloads, machines and designs are approximated, each figure is
printed next to ours, and trends are statements that hold or do not.

`runs` carries simulations out, many in parallel, and keeps each; `study` defines figures and trends. A paper needs no
runs if its figures follow from its parameters: `derivation` defines this kind of study. Each study is a folder of data
with a package that defines it as `STUDY`; `studies` finds it by its location in this folder.
"""
