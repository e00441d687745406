"""The server side of the fixture sites: `agentloop.testing.site` puts it together."""
