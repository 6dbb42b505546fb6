"""Cryptography on this computer: measurements, and the AES-GCM thesis's verdict on software."""
