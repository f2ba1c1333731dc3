"""``python -m scorebars`` is the command ``scorebars``."""

from scorebars.cli import main

if __name__ == "__main__":
    main()
