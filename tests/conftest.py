"""Tests run without a key, without the network and without the user's settings."""

import os

from hypothesis import settings

settings.register_profile("hxmem", deadline=None, derandomize=True)  # no clock, no luck: the same examples each time
settings.load_profile("hxmem")

SETTINGS = ("DEEPSEEK_API_KEY", "DEEPSEEK_BASE_URL", "DEEPSEEK_MODEL", "HXMEM_LANG", "HXMEM_HOME")


def pytest_configure(config):
    """Cells of a notebook take no fixtures: what they must find is set here, before any kernel starts."""
    if config.option.markexpr != "live":
        for name in SETTINGS:
            os.environ.pop(name, None)
    os.environ["HXMEM_STATIC"] = "1"
