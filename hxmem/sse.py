"""Server-sent events: cuts a stream of bytes into the data of its events."""

from collections.abc import Iterable, Iterator
from itertools import chain

DONE = "[DONE]"


def events(chunks: Iterable[bytes]) -> Iterator[str]:
    r"""Yield the data of each event up to ``[DONE]``, which is missing at the end when the bytes stopped early.

    Bytes are cut at ``\n`` only and decoded a whole line at a time: no character is torn, and U+2028 ends no line.

    >>> list(events([b": keep-alive\n\nda", b"ta: 1\r\n\r\n", b"data: [DONE]"]))
    ['1', '[DONE]']
    """
    tail, data = b"", list[str]()
    for chunk in chain(chunks, [b"\n"]):
        *lines, tail = (tail + chunk).split(b"\n")
        for raw in lines:
            line = raw.decode("utf-8-sig", "replace").removesuffix("\r")
            if line.startswith("data:"):
                data.append(line[5:].removeprefix(" "))
            if data == [DONE]:
                yield DONE
                return
            if not line:
                yield from ["\n".join(data)] if any(data) else []
                data = []
