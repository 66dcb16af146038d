"""From raw rows to a gated dataset: ingest, annotate, twelve passes, rebalance, split, gate."""
