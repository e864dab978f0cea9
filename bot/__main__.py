"""`python -m bot` is `treehand`."""

import sys

from bot.cli import main

sys.exit(main())
