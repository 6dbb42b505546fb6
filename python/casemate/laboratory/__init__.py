"""The laboratory in Python: its native functions, their arguments, requests and losses of power."""
