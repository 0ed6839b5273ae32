"""`offloadc bundle`, `unbundle` and `inspect`: their arguments, their files."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from offloadc import report
from offloadc.abi.readers import identify, read_image
from offloadc.bundler import commands
from offloadc.bundler.container import Located, find_bundles
from offloadc.bundler.formats import offload_binary
from offloadc.model import OffloadcError


class _Parser(argparse.ArgumentParser):
    """argparse whose complaints are OffloadcErrors: one form of error, exit code 1."""

    def error(self, message: str) -> NoReturn:
        raise OffloadcError(f"{self.prog}: {message}", hint=" ".join(self.format_usage().split()))


def bundle(argv: tuple[str, ...]) -> int:
    """Write one offload binary of the images named by --image."""
    parser = _Parser(prog="offloadc bundle", allow_abbrev=False)
    parser.add_argument(
        "--image", action="append", default=[], metavar="file=FILE[,triple=T][,arch=A][,kind=K]"
    )
    parser.add_argument("-o", dest="output", required=True)
    options = parser.parse_args(argv)
    images = commands.bundle_images(options.image, _read, identify)
    _write(Path(options.output), offload_binary.write(images))
    return 0


def unbundle(argv: tuple[str, ...]) -> int:
    """Take images out of a file; prints the names of the files it wrote."""
    parser = _Parser(prog="offloadc unbundle", allow_abbrev=False)
    parser.add_argument("file")
    parser.add_argument("--triple")
    parser.add_argument("--arch")
    parser.add_argument("--kind", help="cuda, hip, openmp, sycl or none")
    parser.add_argument("-o", dest="folder", default=".", metavar="FOLDER")
    options = parser.parse_args(argv)
    selection = commands.Selection(options.triple, options.arch, options.kind)
    files = commands.unbundle(_located(options.file), options.file, selection)
    folder = Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        _write(folder / file.name, file.image.data)
        print(folder / file.name)
    return 0


def inspect(argv: tuple[str, ...]) -> int:
    """Show the images in files: executables, shared objects, objects, archives, bundles, images."""
    parser = _Parser(prog="offloadc inspect", allow_abbrev=False)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--format", choices=("table", "json"), default="table")
    options = parser.parse_args(argv)
    located = tuple(item for name in options.files for item in _located(name))
    rows = commands.inspect_rows(located, read_image)
    if options.format == "json":
        print(json.dumps(commands.inspect_json(rows), indent=1))
    else:
        report.print_inspect(rows)
    return 0


def _located(name: str) -> tuple[Located, ...]:
    found = find_bundles(_read(name), name, identify)
    if not found:
        raise OffloadcError(f"{name}: no device image in it", hint="offloadc writes them; see docs/index.md")
    return found


def _read(name: str) -> bytes:
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise OffloadcError(f"cannot read '{name}': {error.strerror}") from error


def _write(path: Path, data: bytes) -> None:
    with _replacing(path) as write:
        write(data)


@contextmanager
def _replacing(path: Path) -> Iterator[Callable[[bytes], int]]:
    """Write under a temporary name and rename: the file is whole or absent."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary.write_bytes
        temporary.replace(path)
    except OSError as error:
        raise OffloadcError(f"cannot write '{path}': {error.strerror}") from error
    finally:
        temporary.unlink(missing_ok=True)
