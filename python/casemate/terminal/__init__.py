"""Output on a terminal or into a pipe: screen, progress, tables that fit, and interruption."""
