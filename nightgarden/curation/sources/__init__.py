"""Readers of foreign files: bytes to rows, rows to examples, faults kept with their place."""
