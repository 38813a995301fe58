"""`python -m fairshare`, which is the program `fairshare`."""

from fairshare.cli import main

if __name__ == "__main__":
    main()
