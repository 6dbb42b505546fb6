"""`python -m casemate`, for systems without the command in the path."""

from casemate.cli.main import main

main()
