"""Methods of both clients that are made of one description."""

import inspect
from collections.abc import AsyncIterator, Iterator

import pytest

from fairshare.client.async_client import AsyncClient
from fairshare.client.calls import CallTable
from fairshare.client.client import Client
from fairshare.client.methods import following, method
from fairshare.client.operations import Operations

METHODS = {**vars(CallTable), **vars(Operations)}
DESCRIBED = [name for name, value in METHODS.items() if isinstance(value, method | following)]


@pytest.mark.parametrize("name", DESCRIBED)
def test_both_clients_have_the_same_signature_and_docstring(name: str) -> None:
    waiting, in_loop = getattr(Client, name), getattr(AsyncClient, name)
    one, other = inspect.signature(waiting), inspect.signature(in_loop)
    assert one.parameters == other.parameters
    if isinstance(METHODS[name], method):
        assert one == other
    assert waiting.__doc__ == in_loop.__doc__
    assert waiting.__doc__


@pytest.mark.parametrize("name", DESCRIBED)
def test_only_the_async_client_has_coroutine_functions(name: str) -> None:
    assert not inspect.iscoroutinefunction(getattr(Client, name))
    waits = isinstance(METHODS[name], method)
    assert inspect.iscoroutinefunction(getattr(AsyncClient, name)) == waits


def test_what_is_followed_is_iterated_over() -> None:
    assert inspect.signature(Client.follow_log).return_annotation == Iterator[bytes]
    assert inspect.signature(AsyncClient.follow_log).return_annotation == AsyncIterator[bytes]


def test_a_signature_names_the_answer_and_not_the_call() -> None:
    assert inspect.signature(Client.kill).return_annotation is None
    assert inspect.signature(AsyncClient.submit).return_annotation is str
