"""Starts the sandbox's own program: `python -I -S -B <this file> zygote|solo <options as JSON>`.

The interpreter runs isolated, without site-packages and without the library around it. Three
empty packages stand in for the library's, so that the files beside this one import each other by
their usual names while nothing else of the library can be imported at all.
"""

import os
import sys
import types

__all__: list[str] = []


def _stand_in(name: str, folder: str | None = None) -> None:
    package = types.ModuleType(name)
    package.__path__ = [folder] if folder else []
    sys.modules[name] = package


if __name__ == "__main__":
    _stand_in("agentloop")
    _stand_in("agentloop.sandbox")
    _stand_in("agentloop.sandbox.inside", os.path.dirname(os.path.abspath(__file__)))
    from agentloop.sandbox.inside.zygote import main

    main(sys.argv[1], sys.argv[2])
