"""`--secret` from the command's words to what is left behind: the value is in the right field and nowhere else."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from agentloop.artifacts.scan import Scanner
from agentloop.guard.secrets import Secret
from agentloop.testing.llm_server import llm_server
from agentloop.testing.site import serve_site
from tests.cli.conftest import Run, finished

VALUE = "correct-horse-7 & Battery"

LOGIN = """<!doctype html><title>Sign in</title>
<form method="post" action="/in"><label>User <input name="user"></label>
<label>Password <input name="password" type="password"></label><button>Sign in</button></form>
<label>Note <input id="note"></label>
<form action="/find"><label>Find <input name="q"></label></form>"""

# A page that echoes what it was given in every way that it has.
WELCOME = """<!doctype html><title>Hello {value}</title><h1>Signed in</h1>
<p>Your password is {value}.</p><p style="text-transform:uppercase">{value}</p><input aria-label="Echo" value="{value}">
<a href="/file/{value}">Download</a><table><tr><td>Row {value}</td><td><button>Row button</button></td></tr></table>
<script>
  const value = {json};
  location.hash = encodeURIComponent(value);
  localStorage.kept = value;
  document.cookie = "kept=" + encodeURIComponent(value);
  console.log(value);
  alert("dialog " + value);
  try {{ new WebSocket("ws://127.0.0.1:1/?" + encodeURIComponent(value)); }} catch {{}}
</script>"""


@dataclass
class Shop:
    """A site that wants a password, and what it was sent."""

    url: str = ""
    sent: list[dict[str, str]] = field(default_factory=list)
    headers: list[str] = field(default_factory=list)


@asynccontextmanager
async def shop() -> AsyncIterator[Shop]:
    """Serves it for the block."""
    site = Shop()

    async def sign_in(request: web.Request) -> web.Response:
        form = await request.post()
        site.sent.append({name: str(value) for name, value in form.items()})
        shown = VALUE.replace("&", "&amp;")
        return _page(WELCOME.format(value=shown, json=json.dumps(VALUE)))

    async def api(request: web.Request) -> web.Response:
        site.headers.append(request.headers.get("X-Key", ""))
        return web.json_response({"you": VALUE, "sent": request.headers.get("X-Key", "")})

    async def file(request: web.Request) -> web.Response:
        return web.Response(body=VALUE.encode(), headers={"Content-Disposition": f'attachment; filename="{VALUE}.txt"'})

    app = web.Application()
    app.add_routes([web.get("/", _sign_in_page), web.post("/in", sign_in), web.get("/api", api)])
    app.add_routes([web.get("/file/{name}", file)])
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        site.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield site
    finally:
        await runner.cleanup()


async def _sign_in_page(request: web.Request) -> web.Response:
    return _page(LOGIN)


def _page(html: str) -> web.Response:
    return web.Response(text=html, content_type="text/html")


def js(body: str) -> str:
    return f"```javascript\nfunction run(args) {{ {body} }}\n```"


SCRIPTS = [
    js("const s = secret('LOGIN'); type('User', 'ann'); type('Password', s); "
       "log('typed', s, browser.value('Password'), browser.eval('document.forms[0].password.value')); return {s}"),
    js("for (const call of [() => type('Find', secret('LOGIN')), () => type('Note', 'x' + secret('LOGIN')),"
       " () => goto('/?' + secret('LOGIN')), () => fetch(args.url + '/?' + secret('LOGIN')),"
       " () => browser.eval(JSON.stringify(args.s)), () => secret('OTHER')])"
       " { try { call(); log('done') } catch (e) { log(e.name + ': ' + e.message) } } return args"),
    js("click('Sign in', 3); return args"),
    js("log(browser.look(), browser.markdown(), browser.title(), browser.url(), browser.eval('value'),"
       " browser.eval('({v: [value]})'),"
       " JSON.stringify(browser.dialogs()), JSON.stringify(browser.mark()), browser.text('body'),"
       " browser.value('Echo'));"
       " click('Row button'); return {page: browser.text('body'), cookie: browser.eval('document.cookie')}"),
    js("click('Download'); log(JSON.stringify(browser.downloads()));"
       " try { browser.eval('(() => { throw new Error(value) })()') } catch (e) { log(e.message) } return args"),
    js("const r = fetch(new URL('/api', browser.url()).href, {headers: {'X-Key': secret('LOGIN')}});"
       " log(r.body); return {body: r.body, parsed: JSON.parse(r.body)}"),
    js("answer(JSON.stringify(args) + ' ' + browser.title())"),
]  # fmt: skip


async def test_a_secret_reaches_its_field_and_is_found_nowhere(repository: Path, tmp_path: Path) -> None:
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    for folder in (home, temporary):
        folder.mkdir()
    env = {
        "SHOP_PASSWORD": VALUE,
        "XDG_DATA_HOME": str(home),
        "XDG_CONFIG_HOME": str(home),
        "TMPDIR": str(temporary),
    }
    async with shop() as site, llm_server(SCRIPTS) as server:
        words = ["browse", f"Sign in. The password is {VALUE}", "--url", f"{site.url}/", "--json", "--json-stream"]
        words += ["--secret", f"LOGIN=env:SHOP_PASSWORD@{site.url}", "--with", "fetch", "--allow", site.url]
        words += ["--llm-base-url", server.base_url, "--artifacts", str(tmp_path / "pictures")]
        words += ["--egress", str(tmp_path / "egress.json")]
        code, out, err = await finished(repository, *words, env=env)
    told = [json.loads(line) for line in out.splitlines()]
    assert code == 0, out + err
    # It arrived, where it should and only there.
    assert site.sent == [{"user": "ann", "password": VALUE}]
    assert site.headers == [VALUE]
    # The scan looks through all there is, also what the model was told; nothing is there, and nothing was warned of.
    (tmp_path / "streams.txt").write_text(out + err, encoding="utf-8")
    prompts = json.dumps([request.body for request in server.requests], ensure_ascii=False)
    (tmp_path / "prompts.txt").write_text(prompts, encoding="utf-8")
    report = Scanner([Secret(name="LOGIN", value=VALUE, origins=[site.url])]).paths([tmp_path])
    assert [str(leak) for leak in report.leaks] == [] and report.unread == ()
    assert report.files > 10 and list((tmp_path / "pictures").glob("turn-*.png"))
    assert not [event for event in told if event["type"] in ("error", "warning")]
    assert re.search(r"secret\.LOGIN\.[0-9a-f]{10}", prompts)
    _check_refusals(told)


def _check_refusals(told: list[dict[str, Any]]) -> None:
    results = [event["content"] for event in told if event["type"] == "execute_js_result"]
    assert 'type("Password", 2, secret("LOGIN"))' in results[0]
    for words in (
        "RequestRefused: secret LOGIN is for http://127.0.0.1",
        "its form is sent by GET",
        "InvalidInput: a secret is typed whole or not at all",
        "goto was not done",
        "never in a URL",
        "eval was not done",
        "no secret is called 'OTHER'; there are: LOGIN",
    ):
        assert words in results[1], results[:2]
    assert "done" not in results[1].splitlines()
    assert not [result for result in results if "is not defined" in result or "SyntaxError" in result]


async def test_the_fixture_shop_lets_in_who_has_the_password(repository: Path) -> None:
    scripts = [
        js("type('User name', 'demo'); type('Password', secret('PW'), {submit: true}); return 1"),
        js("answer(browser.url())"),
    ]
    async with serve_site() as site, llm_server(scripts) as server:
        words = ["browse", "Sign in", "--url", f"{site.url}/shop/login", "--ephemeral"]
        words += ["--secret", f"PW=env:SHOP_PW@{site.url}", "--llm-base-url", server.base_url]
        code, out, _ = await finished(repository, *words, env={"SHOP_PW": "demo"})
    assert (code, out) == (0, f"{site.url}/shop/account\n")


async def test_what_was_written_is_looked_through_and_a_find_is_told(repository: Path, tmp_path: Path) -> None:
    """The same run with a file that holds the value among its artifacts: the command says so, and names the file."""
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    (pictures / "before.txt").write_text(VALUE, encoding="utf-8")
    async with shop() as site, llm_server([js("answer('x')")]) as server:
        words = ["browse", "Look", "--url", f"{site.url}/", "--json", "--llm-base-url", server.base_url, "--ephemeral"]
        words = [word for word in words if word != "--ephemeral"]
        words += ["--secret", f"LOGIN=env:SHOP_PASSWORD@{site.url}", "--artifacts", str(pictures)]
        code, out, err = await finished(repository, *words, env={"SHOP_PASSWORD": VALUE})
    told = [json.loads(line) for line in out.splitlines()]
    [error] = [event for event in told if event["type"] == "error"]
    assert error["content"] == f"secret LOGIN stands in {pictures / 'before.txt'} (as it is)"
    assert code == 0 and VALUE not in out + err


# The command's words --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["run", "browse", "chat"])
@pytest.mark.parametrize(
    ("flag", "told"),
    [
        ("LOGIN=env:NOT_SET@https://h.example", "the environment variable NOT_SET is not set"),
        ("LOGIN=hunter2-hunter2@https://h.example", "--secret LOGIN must be NAME=env:VARIABLE@https://host"),
        ("LOGIN=env:SHORT@https://h.example", "secret LOGIN: a value has 4 to 10,000 characters"),
        ("LOGIN=env:SHORT@http://h.example", "is not encrypted"),
    ],
)
def test_a_flag_that_cannot_be_used_ends_the_command(agentloop: Run, command: str, flag: str, told: str) -> None:
    words = ["x"] if command != "chat" else []
    done = agentloop(command, *words, "--secret", flag, "--llm", "scripted:none", env={"SHORT": "abc"})
    assert done.returncode == 3 and told in done.stderr
    assert "hunter2" not in done.stdout + done.stderr and "Traceback" not in done.stderr


def test_a_run_without_a_browser_has_it_too(agentloop: Run, replies: Callable[..., str]) -> None:
    script = replies(js("log(secret('TOKEN'), help('secret')); answer(secret('TOKEN').slice(0, 13))"))
    flag = "TOKEN=env:MY_TOKEN@https://api.example"
    done = agentloop("run", "x", "--secret", flag, "--llm", script, "--ephemeral", env={"MY_TOKEN": VALUE})
    assert (done.returncode, done.stdout) == (0, "secret.TOKEN.\n")
    none = agentloop("run", "x", "--llm", replies(js("answer(typeof secret)")), "--ephemeral")
    assert none.stdout == "undefined\n", "without the flag there is no such name"


def test_a_workspace_may_not_bind_secrets_and_the_users_own_file_may(
    agentloop: Run, replies: Callable[..., str], tmp_path: Path
) -> None:
    workspace, config = tmp_path / "work", tmp_path / "config" / "agentloop"
    for folder in (workspace, config):
        folder.mkdir(parents=True)
    line = 'secret = ["TOKEN=env:MY_TOKEN@https://api.example"]\n'
    script = replies(js("answer(typeof secret)"))
    words = ["run", "x", "--llm", script, "--ephemeral", "--cwd", str(workspace)]
    env = {"MY_TOKEN": VALUE, "XDG_CONFIG_HOME": str(tmp_path / "config")}
    (workspace / "agentloop.toml").write_text(line, encoding="utf-8")
    refused = agentloop(*words, env=env)
    assert refused.stdout == "undefined\n" and "a workspace may not choose this" in refused.stderr
    (config / "config.toml").write_text(line, encoding="utf-8")
    assert agentloop(*words, env=env).stdout == "function\n"
    by_variable = {"AGENTLOOP_SECRET": "TOKEN=env:MY_TOKEN@https://api.example", "MY_TOKEN": VALUE}
    assert agentloop(*words, env=by_variable).stdout == "function\n"


def test_doctor_tells_of_the_binding_and_not_of_the_value(agentloop: Run) -> None:
    flag = "TOKEN=env:MY_TOKEN@https://api.example"
    done = agentloop("doctor", "--offline", "--secret", flag, env={"MY_TOKEN": VALUE})
    assert f"secret = {flag}, from --secret" in done.stdout and VALUE not in done.stdout + done.stderr
