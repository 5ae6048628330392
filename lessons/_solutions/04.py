"""Solutions of lesson 04, and wrong answers that the checks must tell apart."""

FIELDS = ("name", "type", "description", "body")
TYPES = ("user", "feedback", "project", "reference")


def accept(item):
    if not isinstance(item, dict):
        return "not an object"
    for field in FIELDS:
        value = item.get(field)
        if not isinstance(value, str) or not value.strip():
            return f"no {field}"
    return "" if item["type"] in TYPES else f"type {item['type']} is unknown"


def only_the_name(item):
    return "" if item.get("name") else "no name"


def spaces_pass(item):
    missing = [field for field in FIELDS if not item.get(field)]
    return f"no {missing[0]}" if missing else ""


def any_type(item):
    for field in FIELDS:
        value = item.get(field)
        if not isinstance(value, str) or not value.strip():
            return f"no {field}"
    return ""


SOLUTIONS = {"4.1": {"b", "e"}, "4.2": accept}

WRONG = {
    "4.1": [{"a", "b", "e"}, {"e"}, {"b", "c", "e"}, {"b", "d", "e"}, {"b"}, {"b", "e", "f"}, {"x"}],
    "4.2": [
        lambda item: "no",
        lambda item: None if accept(item) == "" else accept(item),
        lambda item: "",
        lambda item: "bad item" if accept(item) else "",
        only_the_name,
        spaces_pass,
        any_type,
    ],
}
