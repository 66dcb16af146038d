"""The two ends that are not bugs: the user's to repair, and a gate's refusal."""


class UserError(Exception):
    """Something the user can repair; shown as one message without a traceback (exit code 2)."""


class Refusal(Exception):  # noqa: N818 - a refusal is a verdict, not an error
    """A gate said no, with its reason and what to do next (exit code 3)."""
