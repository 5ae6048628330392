"""`python -m hxmem` is the command `hx`."""

import sys

from hxmem.cli import main

sys.exit(main())
