"""`python -m nightgarden`: the form that dvc.yaml uses, because it runs the code of the working tree it stands in."""

from nightgarden.cli import main

if __name__ == "__main__":
    main()
