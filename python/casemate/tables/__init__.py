"""Results as tables for people."""
