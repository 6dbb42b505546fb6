"""A published evaluation, run again. A study approximates the paper's workloads, machines and designs. It prints each
figure of the paper next to ours, and decides whether the paper's statements (trends) hold for our figures.

`runs` carries out simulations, many in parallel, and keeps the record of each; `study` defines figures and trends. A
paper needs no runs if its figures follow from its parameters: `derivation` defines this kind of study. Each study is a
package in this folder that defines `STUDY`; `studies` finds it by its location.
"""

KEPT = "_reproduction.json"
"""File of a results folder with the figures and trends of its evaluation, for `casemate report`."""
