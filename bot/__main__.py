"""`python -m bot` is `treehand`."""

import sys

from bot.cli.main import main

sys.exit(main())
