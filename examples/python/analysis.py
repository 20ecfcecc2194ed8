"""What the workers do to a file, and the table that comes of it. Knows nothing of gRPC.

Run by itself it computes the table from the files directly, which is what a run through handoffd
is compared with:

    python analysis.py FOLDER...
"""

import collections
import re
import sys
from pathlib import Path

TERM = re.compile(r"[^\W\d_]{4,}")
TERMS = 3


def files_of(folders):
    """Names the text files below the folders, each once, in a stable order."""
    found = set()
    for folder in map(Path, folders):
        if not folder.is_dir():
            raise SystemExit(f"`{folder}` is no folder")
        for path in folder.rglob("*"):
            hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
            if path.is_file() and not hidden and is_text(path):
                found.add(path.as_posix())
    return sorted(found)


def is_text(path):
    """Tells whether the file is UTF-8 without NUL."""
    content = Path(path).read_bytes()
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in content


def analyse(text):
    """Counts lines and words, and finds the longest line and the most frequent terms."""
    lines = text.splitlines()
    terms = collections.Counter(term.lower() for term in TERM.findall(text))
    frequent = sorted(terms.items(), key=lambda term: (-term[1], term[0]))[:TERMS]
    return {
        "lines": len(lines),
        "words": len(text.split()),
        "longest_line": max(map(len, lines), default=0),
        "terms": [{"term": term, "count": count} for term, count in frequent],
    }


def table(findings):
    """Lays findings out by file. The same findings give the same bytes, in whatever order they came."""
    rows = [("file", "lines", "words", "longest", "most frequent terms")]
    for file, found in sorted(findings.items()):
        # Numbers come back from a Struct as floats.
        terms = ", ".join(f"{term['term']} {int(term['count'])}" for term in found["terms"])
        numbers = (str(int(found[key])) for key in ("lines", "words", "longest_line"))
        rows.append((file, *numbers, terms))
    totals = (sum(int(found[key]) for found in findings.values()) for key in ("lines", "words"))
    longest = max((int(found["longest_line"]) for found in findings.values()), default=0)
    rows.append((f"{len(findings)} files", *map(str, totals), str(longest), ""))
    width = max(len(row[0]) for row in rows)
    return "\n".join(
        f"{name:<{width}}  {lines:>7}  {words:>7}  {longest:>7}  {terms}".rstrip()
        for name, lines, words, longest, terms in rows
    )


def direct_table(folders):
    """The table, made without anybody's help."""
    return table({file: analyse(Path(file).read_text("utf-8")) for file in files_of(folders)})


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    print(direct_table(sys.argv[1:]))
