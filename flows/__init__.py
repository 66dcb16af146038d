"""Order and decisions, short enough to say aloud. Run from the checkout, never installed."""
