"""One file a rule; each is loaded by name, so that a stage depends on its own rule alone.

Every rule module has

- `ENGINE`: what decides and the hash of its patterns, written into every ledger line;
- `CANARY_BAD`: texts or examples that the rule must hit;
- `canaries(settings)`: those as whole rows that go through the stage and are taken out again;
- `hits(example, settings)`: every hit on one row, in order.

Two rules look beyond one row, `duplicate` and `contamination`: they have `all_hits(examples,
settings, prompts)` instead, and `canaries(settings, prompts)`. Reasons never quote a row's own
text: a key that stands in it would travel with them into ledgers and logs.
"""
