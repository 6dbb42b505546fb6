"""The command line: the entry point, its commands and the options that they share."""
