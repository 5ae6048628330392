"""The words that go to the model: sentences in `prompts.zh.toml` and `prompts.en.toml`, and labels for both."""

from dataclasses import dataclass

from hxmem.language import sentences

CATALOG_LABEL = "Memory catalog:"
EXISTING_LABEL = "Existing memories:"
DIALOGUE_LABEL = "Dialogue:"
INDEX_LABEL = "Project memory index:"


@dataclass(frozen=True)
class Prompts:
    """One language's sentences: `rules` are the agent's; `choose` takes the limit; the others are used as they are."""

    rules: str
    choose: str
    extract: str
    recalled: str
    index: str
    no_index: str
    acknowledge: str


def prompts(lang: str = "") -> Prompts:
    """The sentences of a language, chosen as `hxmem.language.language` says."""
    return Prompts(**sentences(__file__, lang))
