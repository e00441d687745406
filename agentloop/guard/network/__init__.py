"""The one network boundary: how URLs are read, what is reachable, and the proxy that pages are held behind."""
