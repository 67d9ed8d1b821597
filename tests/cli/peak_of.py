"""Runs a command and writes the most memory that it or a child of it had, in whole MiB.

peak_of.py FILE COMMAND...   ends as the command does; FILE has the figure that the kernel counted, at its end
"""

import resource
import subprocess
import sys

result = subprocess.run(sys.argv[2:])
with open(sys.argv[1], "w") as file:
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024, file=file)
sys.exit(result.returncode if result.returncode >= 0 else 128 - result.returncode)
