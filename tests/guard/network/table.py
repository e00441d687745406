"""URLs that lead where nobody allowed, in every spelling that has fooled somebody's check.

In the world of these rows `ok.test` is allowed at one port and leads to 127.0.0.1, `evil.test` leads to 127.0.0.2.
{h} is a port at 127.0.0.1 and ::1 at which something hides, {f} that of the forbidden host, {ok} the allowed one.
"""

from __future__ import annotations

__all__ = ["HOSTS", "SCHEMES", "WHOLE"]

HOSTS = [
    "http://127.0.0.1:{h}/", "http://localhost:{h}/", "http://localhost.:{h}/", "http://foo.localhost:{h}/",
    "http://[::1]:{h}/", "http://[::ffff:7f00:1]:{h}/", "http://[::ffff:127.0.0.1]:{h}/", "http://0:{h}/",
    "http://0.0.0.0:{h}/", "http://[::]:{h}/", "http://0x7f.1:{h}/", "http://0x7f000001:{h}/", "http://2130706433:{h}/",
    "http://0177.0.0.1:{h}/", "http://127.1:{h}/", "http://127。0。0。1:{h}/", "http://１２７.0.0.1:{h}/",
    "http://①②⑦.0.0.1:{h}/", "http://%31%32%37.0.0.1:{h}/", "http://[64:ff9b::7f00:1]:{h}/",
    "http://[::127.0.0.1]:{h}/", "http://[2002:7f00:1::]:{h}/",
    "http://169.254.169.254/", "http://[::ffff:169.254.169.254]/", "http://[fd00:ec2::254]/", "http://[fe80::1]/",
    "http://[fc00::1]/", "http://100.64.0.1/", "http://10.0.0.1/", "http://metadata.google.internal/",
    "http://evil.test:{f}/", "https://ok.test@evil.test:{f}/", "http://ok.test:{ok}@evil.test:{f}/",
    "http://ok.test%40evil.test:{f}/", "http://ok.test.evil.test:{f}/", "http://evil.test:{f}/#@ok.test",
    "http://evil.test:{f}?@ok.test", "http://evil.test:{f}\\@ok.test", "http:\\\\evil.test:{f}\\@ok.test:{ok}/",
    "http://ev\til.te\nst:{f}/", " http://evil.test:{f}/ ", "HTTP://EVIL.TEST:{f}/", "http://evil.test.:{f}/",
    "http://eVil。test:{f}/", "http:////evil.test:{f}/", "http://evil.test:0{f}/",
    "http://оk.test:{f}/", "http://ok.test:{f}/", "https://ok.test:{ok}/", "http://ok.test:81/",
]  # fmt: skip
"""Of http and https; none of them may be reached."""

WHOLE = ["http:evil.test:{f}/", "http:/evil.test:{f}/", "http:\\evil.test:{f}/"]
"""The same, but on an http page, and in a redirect from there, a browser takes them for places on the page's host."""

SCHEMES = [
    "file:///etc/passwd", "FILE:///etc/passwd", "file://evil.test/etc/passwd", "view-source:http://ok.test:{ok}/",
    "view-source:file:///etc/passwd", "data:text/html,<script>fetch('http://evil.test:{f}/')</script>",
    "blob:http://ok.test:{ok}/6a0f6f3c-7a4e-4b5e-9d55-0f3c5b9f7a11", "javascript:fetch('http://evil.test:{f}/')",
    "java\nscript:fetch('http://evil.test:{f}/')", "\x01javascript:fetch('http://evil.test:{f}/')",
    "chrome://version/", "chrome-error://chromewebdata/", "devtools://devtools/bundled/inspector.html", "about:srcdoc",
    "about:version", "filesystem:http://ok.test:{ok}/temporary/x", "ftp://ok.test/", "ws://evil.test:{f}/ws",
    "wss://evil.test:{f}/ws", "gopher://evil.test:{f}/", "chrome-extension://abcdefghijklmnopabcdefghijklmnop/x.html",
]  # fmt: skip
"""Of other schemes; what they name may not be opened."""
