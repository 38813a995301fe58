"""A program that asks PAM whether a password is that of an account: modules of PAM may block, fork,
or end their process, so the server runs them in another one.

stdin has a `Question` in JSON. Exit code 0: the password is right, and the account may be used; its
name is on stdout. 1: not so, for a reason on stderr. 2: there is no PAM to ask.
"""

import ctypes
import sys
from ctypes import CFUNCTYPE, POINTER, Structure, byref, c_char_p, c_int, c_void_p, cast
from pathlib import Path
from typing import Any, Final

import msgspec

from fairshare.wording import cause

LIBRARY: Final = "libpam.so.0"
FOLDERS: Final = (Path("/etc/pam.d"), Path("/usr/lib/pam.d"))
"""Where services are."""
WRONG: Final = 1
_UNUSABLE: Final = 2

_PROMPT_ECHO_OFF: Final = 1
_ITEM_USER, _ITEM_TTY, _ITEM_RHOST = 2, 3, 4
_DISALLOW_EMPTY: Final = 1


class Question(msgspec.Struct, frozen=True):
    """`address` is that of the caller, for modules that count or log."""

    service: str
    user: str
    password: str
    address: str = ""


def is_service(name: str) -> bool:
    """Whether this machine has a service."""
    return any((folder / name).exists() for folder in FOLDERS)


class _Message(Structure):
    _fields_ = (("style", c_int), ("text", c_char_p))


class _Response(Structure):
    _fields_ = (("text", c_void_p), ("code", c_int))


_Converse = CFUNCTYPE(
    c_int, c_int, POINTER(POINTER(_Message)), POINTER(POINTER(_Response)), c_void_p
)


class _Conversation(Structure):
    _fields_ = (("converse", _Converse), ("data", c_void_p))


def ask(question: Question) -> tuple[int, str]:
    """The exit code, and the account or the reason. Raises OSError without PAM."""
    library = ctypes.CDLL(LIBRARY)
    libc = ctypes.CDLL(None)
    libc.calloc.restype = libc.strdup.restype = c_void_p
    libc.strdup.argtypes = [c_char_p]
    library.pam_strerror.restype = c_char_p

    def converse(count: int, messages: Any, responses: Any, _: Any) -> int:
        # PAM frees the responses, so they come from its own allocator.
        made = cast(libc.calloc(count, ctypes.sizeof(_Response)), POINTER(_Response))
        for number in range(count):
            secret = messages[number].contents.style == _PROMPT_ECHO_OFF
            made[number].text = libc.strdup(question.password.encode() if secret else b"")
        responses[0] = made
        return 0

    conversation = _Conversation(_Converse(converse), None)
    handle = c_void_p()
    service, user = question.service.encode(), question.user.encode()
    code = library.pam_start(service, user, byref(conversation), byref(handle))
    if code:
        return _UNUSABLE, f"pam_start failed with {code}"
    try:
        for item, text in ((_ITEM_TTY, b"fairshare"), (_ITEM_RHOST, question.address.encode())):
            library.pam_set_item(handle, item, c_char_p(text))
        code = library.pam_authenticate(handle, _DISALLOW_EMPTY)
        code = code or library.pam_acct_mgmt(handle, _DISALLOW_EMPTY)
        if code:
            reason = library.pam_strerror(handle, code).decode(errors="replace")
            return WRONG, reason
        name = c_char_p()
        library.pam_get_item(handle, _ITEM_USER, byref(name))
        return 0, (name.value or b"").decode()
    finally:
        library.pam_end(handle, code)


def main() -> int:
    """Answer the question of stdin."""
    try:
        question = msgspec.json.decode(sys.stdin.buffer.read(), type=Question)
        code, words = ask(question)
    except (OSError, ValueError) as error:
        code, words = _UNUSABLE, cause(error)
    print(words, file=sys.stderr if code else sys.stdout)
    return code


if __name__ == "__main__":
    sys.exit(main())
