"""`python -m dynamap` is the `dynamap` command."""

import sys

from dynamap.cli import main

sys.exit(main())
