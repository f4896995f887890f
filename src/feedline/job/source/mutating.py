"""What changes things in place, by name."""

CHANGING = frozenset(
    {
        *("append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse"),
        *("update", "add", "discard", "setdefault", "popitem", "appendleft"),
        *("popleft", "send", "seek", "read", "readline", "write", "fill", "put"),
        "shuffle",
    }
)
"""Methods that change what they belong to."""
