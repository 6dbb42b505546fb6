"""Reports: one page of HTML for a results folder, with figures, tables and filters, which needs no network."""
