"""What changes things in place, by name. A file of its own: loops are read before the
script has loaded NumPy, which `known_python.py` needs."""

CHANGING = frozenset(
    {
        *("add", "append", "appendleft", "clear", "discard", "extend", "fill"),
        *("insert", "pop", "popitem", "popleft", "put", "read", "readline", "remove"),
        *("reverse", "seek", "send", "setdefault", "shuffle", "sort", "update"),
        "write",
    }
)
"""Methods that change what they belong to."""
