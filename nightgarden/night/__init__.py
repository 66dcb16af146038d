"""Nightly distillation: freeze the day, learn from it, let trust follow what was measured."""
