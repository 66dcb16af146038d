"""The student: a frozen sentence encoder with five small heads."""
