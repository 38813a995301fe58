"""`fairshare mcp`, as a client of the Model Context Protocol's own package talks to it."""

import json
import sys

import pytest

from fairshare import __version__

from .test_arrays import server as server

mcp = pytest.importorskip("mcp", reason="fairshare[mcp] is not installed")

pytestmark = pytest.mark.anyio
SMALL = {"queue": "a", "memory_mb": 64}


@pytest.fixture
def assistant(server):
    """Connects an assistant, whose program gets these options."""

    def connect(*options):
        words = ("-m", "fairshare", "mcp", "--url", server.url, *options)
        return mcp.client.Client(mcp.StdioServerParameters(command=sys.executable, args=words))

    return connect


def said(result):
    """The answer of a tool, which must not be an error."""
    assert not result.is_error, result.content
    return result.structured_content or json.loads(result.content[0].text)


async def test_an_assistant_asks_why_and_changes_nothing(assistant, server):
    async with assistant() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert {"overview", "explain", "prove", "owed", "plan", "at", "lint", "logs"} <= set(tools)
        assert "submit" not in tools
        assert all(tool.annotations.read_only_hint for tool in tools.values())
        overview = said(await client.call_tool("overview", {}))
        assert overview["node_count"] == 1
        assert "root.a" in [queue["name"] for queue in overview["queues"]]
        refused = await client.call_tool("explain", {"application": "99"})
        assert refused.is_error
        assert "99" in refused.content[0].text


async def test_an_assistant_that_may_submits_looks_and_releases(assistant, server):
    async with assistant("--allow-changes") as client:
        words = {"command": ["sh", "-c", "echo done; echo no >&2"], **SMALL}
        nothing = await client.call_tool("submit", {"command": [], **SMALL})
        assert "give one of arguments, command" in nothing.content[0].text
        name = said(await client.call_tool("submit", words))["id"]
        server.finished(name)
        shown = said(await client.call_tool("application", {"application": name}))["application"]
        assert shown["state"] == "FINISHED"
        container = shown["groups"] and f"{name.replace('application', 'container')}_01_000001"
        logs = said(await client.call_tool("logs", {"container": container}))
        assert logs["text"] == "done\n"
        long = {**words, "command": ["sleep", "60"], "count": 100}
        waits = said(await client.call_tool("submit", long))["id"]
        said(await client.call_tool("hold", {"application": waits}))
        (reason, *_) = said(await client.call_tool("explain", {"application": waits}))["reasons"]
        assert (reason["cause"], reason["remedy"] != "") == ("held", True)
        proof = said(await client.call_tool("prove", {"application": waits}))["proof"]
        assert any("released" in one["words"] for one in proof["remedies"][0]["actions"])
        past = {"moment": "now", "history": str(server.state), "question": "why"}
        then = said(await client.call_tool("at", {**past, "application": waits}))["result"]
        assert then["reasons"][0]["cause"] == "held"
        said(await client.call_tool("kill", {"application": waits}))


async def test_an_assistant_examines_a_configuration(assistant, server):
    async with assistant() as client:
        answer = said(await client.call_tool("lint", {"path": str(server.conf)}))
        assert answer["exit_code"] == 0
        missing = await client.call_tool("lint", {"path": "/nowhere"})
        assert missing.is_error or said(missing)["exit_code"] != 0


async def test_every_tool_refuses_an_argument_that_it_does_not_have(assistant):
    async with assistant("--allow-changes") as client:
        for tool in (await client.list_tools()).tools:
            assert tool.input_schema["additionalProperties"] is False
            refused = await client.call_tool(tool.name, {"aplication": "1", "queue": "a"})
            assert refused.is_error
            assert f"{tool.name} has no argument 'aplication'" in refused.content[0].text
        refused = await client.call_tool("ledger", {"hour": 24})
        assert "it takes hours, queue, user, by" in refused.content[0].text


async def test_the_server_names_its_version(assistant):
    async with assistant() as client:
        assert (client.server_info.name, client.server_info.version) == ("fairshare", __version__)
