"""Flow 2: a LoRA adapter from a gated dataset."""
