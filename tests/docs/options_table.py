"""The table of options that the docs hold; run as a program, it prints it."""

from __future__ import annotations

from fsshelter_py.conf import option_names


def options_table() -> str:
    """One row an option: field, default, meaning and Storm key."""
    rows = []
    for name, (key, default, meaning) in option_names().items():
        shown = str(default).lower() if isinstance(default, bool) else default
        rows.append(f"| `{name}` | {'none' if default is None else f'`{shown}`'} | {meaning} `{key}` |")
    return "\n".join(rows)


if __name__ == "__main__":
    print(options_table())
