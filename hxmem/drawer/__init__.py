"""The drawer: memories as Markdown files, chosen by a catalog, written after the answer."""
