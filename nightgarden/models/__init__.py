"""Base models: where they live, how they come, how they are loaded."""
