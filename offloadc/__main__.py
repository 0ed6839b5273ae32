"""python -m offloadc"""

import sys

from offloadc.cli import main

sys.exit(main())
