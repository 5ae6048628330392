"""Solutions of lesson 05, and wrong answers that the checks must tell apart."""

INDEX, DETAIL, IGNORE = ".harnessx/memory/MEMORY.md", ".harnessx/memory/*.md", ".harnessx/.gitignore"


def accepted(folder):
    details = [path for path in folder.glob(DETAIL) if path.name != "MEMORY.md"]
    there = {INDEX: (folder / INDEX).is_file(), DETAIL: bool(details), IGNORE: (folder / IGNORE).is_file()}
    return [name for name, found in there.items() if not found]


def counts_the_index(folder):
    return [name for name in (INDEX, DETAIL, IGNORE) if not list(folder.glob(name))]


def looks_into_history(folder):
    found = [path for path in folder.rglob("*.md") if path.name != "MEMORY.md"]
    return [name for name in accepted(folder) if name != DETAIL] + ([] if found else [DETAIL])


SOLUTIONS = {"5.1": "c", "5.2": accepted}

WRONG = {
    "5.1": ["a", "b", "d"],
    "5.2": [
        lambda folder: not accepted(folder),
        lambda folder: [folder / name for name in accepted(folder)] or [folder],
        lambda folder: [INDEX, DETAIL, IGNORE],
        lambda folder: [],
        counts_the_index,
        looks_into_history,
        lambda folder: [name for name in accepted(folder) if name != INDEX or len(accepted(folder)) > 1],
        lambda folder: [name for name in accepted(folder) if name != IGNORE or len(accepted(folder)) > 1],
    ],
}
