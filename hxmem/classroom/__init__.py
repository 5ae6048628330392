"""A server on loopback that speaks DeepSeek's chat protocol and answers by rules: for lessons and tests without a key.

It is not the vendor's service and not a model; it says so ("model": "classroom"). It reads the request body and nothing
else, so it can only repeat a memory that really lies in the messages.

What it imitates, and how sure that is:

- documented by the vendor (A): paths, bearer keys, the request fields it checks and the texts of most errors, thinking
  on by default with `reasoning_content` first, `reasoning_content` demanded back when there are tools, the stream's
  events and its `[DONE]`, usage counts that add up, keep-alive comments and blank lines.
- measured by others (B): the cache in blocks of 128 tokens, the type names of some errors, octet-stream errors.
- assumed (C): the 404 envelope, `Retry-After: 1` on 429, the text of a 500. Token counts are estimates; ids, `created`
  and the balance are made up, and fixed so that an answer is the same on each machine.
"""

from hxmem.classroom.faults import Fault, Faults, UnknownFault, summary
from hxmem.classroom.server import Classroom

__all__ = ["Classroom", "Fault", "Faults", "UnknownFault", "summary"]
