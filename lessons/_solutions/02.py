"""Solutions of lesson 02, and wrong answers that the checks must tell apart."""


def index_line(name, description):
    return f"- [{name}]({name}.md) - {' '.join(description.split())}"


SOLUTIONS = {"2.1": "b", "2.2": index_line}

WRONG = {
    "2.1": ["a", "c", "d"],
    "2.2": [
        lambda name, description: [name, description],
        lambda name, description: f"- [{name}]({name}.md) - {description}",
        lambda name, description: f"- [{name}]({name}.md) - {' '.join(description.split())}\n",
        lambda name, description: f"[{name}]({name}.md) - {description}",
        lambda name, description: f"- {name} ({name}.md) - {description}",
        lambda name, description: f"- [{name}]({name}) - {description}",
        lambda name, description: f"- [{name}]({name}.md)",
        lambda name, description: f"- [{name}]({name}.md): {' '.join(description.split())}",
    ],
}
