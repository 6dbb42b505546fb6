"""Text that people write and read: amounts, and the nearest right name for a wrong one."""
