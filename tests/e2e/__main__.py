"""`python -m tests.e2e`: see run.py."""

import sys

from tests.e2e.run import main

sys.exit(main())
