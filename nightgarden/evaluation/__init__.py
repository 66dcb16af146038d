"""Stock and adapted model side by side: the same token ids, scored by rules, judged by paired statistics."""
