"""Rows of plain values: their columns, frames of polars or pandas, and the libraries that tables and studies need."""
