"""A published evaluation, run again: the paper's workloads, machines and designs as near as we have them, each of its
figures next to ours, and its trends as statements that hold or do not.

`runs` carries simulations out, many side by side, and keeps each; `study` says what a figure and a trend are. A paper
whose figures follow from its own parameters needs no runs: `derivation` says what such a study is. Either is a folder
of data in their terms, whose package names it as `STUDY`; it is found by being here (`studies`).
"""
