"""data-juicer's operators that come nearest to our rules, in an environment of their own (`make peers`).

Text length and words stand for our length; special characters and the longest line for bullets and exclamations;
redaction for secrets; replacement by a list of expressions for phrases, slots and control tokens.
"""

import json
import logging
import resource
import sys
import time


def main() -> None:
    """Load, flatten the answers into one text a row, run the operators, say what it took."""
    import datasets
    from data_juicer.core.data import NestedDataset
    from data_juicer.ops import OPERATORS
    from loguru import logger

    logger.remove()
    logging.disable(logging.INFO)
    datasets.disable_progress_bars()
    started = time.process_time()
    with open(sys.argv[1]) as file:
        chats = [json.loads(line)["conversations"] for line in file]
    rows = NestedDataset.from_list([{"text": "\n".join(turn["value"] for turn in chat)} for chat in chats])
    phrases = [r"(?i)\bi'd be happy to\b", r"(?i)\bcertainly\b", r"(?i)\bas an ai\b", r"(?i)\bbased on our previous\b"]
    slots = [r"\{\{[^{}]+\}\}", r"\[[A-Z]{2,}[^\]]*\]", r"(?i)\[your [^\]]*\]", r"<\|[^|<>\s]{1,40}\|>"]
    chosen = [
        ("text_length_filter", {"min_len": 1, "max_len": 10_000}),
        ("words_num_filter", {"min_num": 1, "max_num": 1200}),
        ("special_characters_filter", {"max_ratio": 0.25}),
        ("maximum_line_length_filter", {"min_len": 1}),
        ("pii_redaction_mapper", {}),
        ("replace_content_mapper", {"pattern": phrases + slots, "repl": ""}),
    ]
    for name, options in chosen:
        rows = rows.process(OPERATORS.modules[name](**options, num_proc=1))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = time.process_time() - started + children.ru_utime + children.ru_stime
    print(json.dumps({"cpu_s": round(seconds, 3), "peak_mb": round(peak), "rows": len(rows)}))


if __name__ == "__main__":
    main()
