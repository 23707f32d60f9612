"""The `torchlens` command; `python -m torchlens` is the same."""

import sys


def main() -> None:
    """Run the command line and exit with its status."""
    # The command-line library is loaded for the command line alone.
    from torchlens._command_line import run  # noqa: PLC0415
    from torchlens._output import spell_out_what_is_missing  # noqa: PLC0415

    spell_out_what_is_missing()
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
