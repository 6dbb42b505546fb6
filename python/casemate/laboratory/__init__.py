"""The laboratory in Python: wrappers of native functions, conversion of arguments, requests, and losses of power."""
