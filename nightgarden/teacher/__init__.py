"""The teacher: what may be asked about a night, and who answers."""
