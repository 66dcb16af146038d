"""A frozen language model in a memory shell by day; a measured distillation pipeline by night."""

__version__ = "0.1.0"
