"""Chat templates: one truth for training, evaluation and chat."""
