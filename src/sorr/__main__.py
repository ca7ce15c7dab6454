"""What ``python -m sorr`` runs: the command ``sorr``."""

from sorr.cli import main

if __name__ == "__main__":
    main()
