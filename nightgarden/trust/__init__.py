"""How far the student may be believed: split, skill, gate, record."""
