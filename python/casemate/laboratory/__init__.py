"""The laboratory in Python: wrappers of the native functions, conversion of arguments, requests, and losses of power.
"""
