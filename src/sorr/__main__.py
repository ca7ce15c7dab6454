"""The command ``sorr``, as ``python -m sorr``."""

from sorr.cli import main

if __name__ == "__main__":
    main()
