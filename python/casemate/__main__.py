"""`python -m casemate`, where the command itself is not in the path."""

from casemate.cli import main

main()
