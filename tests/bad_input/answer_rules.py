# SPDX-License-Identifier: Apache-2.0
"""What every answer to bad input obeys, and a way to call what may crash or hang."""

from __future__ import annotations

import json
import os
import select
import signal
import time
import unicodedata
from typing import Any, Callable

SECONDS = 60.0  #: no call with the sizes that are drawn here takes longer, on a busy machine either
#: Words of C++, Python and of nobody who writes for a user.
INTERNALS = ("std::", "basic_string", "bad_cast", "bad_alloc", "terminate called", "Traceback",
             "internal error", "incompatible function arguments", "vector::", "nlohmann", "[json.")


class Wrong(AssertionError):
    """An answer that must not be."""


def require(holds: bool, sentence: str) -> None:
    if not holds:
        raise Wrong(sentence)


def is_line(text: str) -> bool:
    """No control character, and no byte that was no text."""
    return not any(unicodedata.category(one) in ("Cc", "Cs", "Zl", "Zp") for one in text)


def check_sentence(sentence: str, about: str) -> None:
    """One line that a person can read."""
    require(sentence.strip() != "", f"{about}: fails without a sentence")
    require(is_line(sentence), f"{about}: {sentence!r} is not one line of text")
    for word in INTERNALS:
        require(word not in sentence, f"{about}: speaks of {word!r}: {sentence}")


def in_a_child(call: Callable[[], Any], about: str) -> Any:
    """`call()` in a forked process; its result, which JSON must be able to hold. A signal and a call
    without end are Wrong."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(read)
            text = json.dumps(call())
            while text:
                text = text[os.write(write, text.encode()) :]
            code = 0
        finally:
            os._exit(code)
    os.close(write)
    text = b""
    end = time.monotonic() + SECONDS
    with os.fdopen(read, "rb", buffering=0) as pipe:
        while select.select([pipe], [], [], max(0.0, end - time.monotonic()))[0]:
            block = pipe.read(1 << 16)
            if not block:
                break
            text += block
        else:
            os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    require(time.monotonic() < end, f"{about}: no answer within {SECONDS:.0f} s")
    require(not os.WIFSIGNALED(status), f"{about}: died by signal {os.WTERMSIG(status)}")
    require(os.WEXITSTATUS(status) == 0, f"{about}: left the process with {os.WEXITSTATUS(status)}")
    return json.loads(text)
