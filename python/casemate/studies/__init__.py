"""Studies: many runs and campaigns on many processes and machines, kept as tables.

The modules in the order of the work: `study` describes a study, and `study_file` reads and writes it as TOML.
`expansion` turns the study into `points`, and `recordings` records its programs. `dispatch` gives the points to the
workers of a `cluster`. A results `folder` keeps one row for each point, and `query` reads the rows again.
"""
