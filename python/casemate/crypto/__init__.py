"""Cryptography on this computer: measurements, and the thesis's verdict on software."""
