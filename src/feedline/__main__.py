"""`python -m feedline` is the command `feedline`."""

from feedline.cli.main import main

main()
