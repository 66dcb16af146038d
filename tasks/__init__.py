"""Policy around one thing each: run a DVC stage, hold a worktree, promote, publish. Never installed."""
