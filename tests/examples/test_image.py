"""The picture code of examples/heat: right on every form it reads, one clear error on all else."""

from __future__ import annotations

import random
import struct
import subprocess
import zlib
from pathlib import Path

import pytest

from tests.examples.conftest import ROOT
from tests.examples.png_files import CHANNELS, SIGNATURE, chunk, compress, filtered, header, png

pytestmark = pytest.mark.slow  # a compilation with sanitizers

CELL = ROOT / "examples" / "heat" / "cell.png"


def run(tool: Path, *files: Path) -> list[str]:
    done = subprocess.run(
        [str(tool), *map(str, files)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def read(tool: Path, folder: Path, data: bytes) -> str:
    file = folder / "picture"
    file.write_bytes(data)
    (line,) = run(tool, file)
    return line.replace(str(file), "FILE")


def noise(width: int, height: int, channels: int, seed: int = 1) -> list[bytes]:
    # Runs and repeats besides noise, so that the compressor uses matches near and far.
    rng = random.Random(seed)
    rows = [
        bytes(rng.choice((0, 7, 255, rng.randrange(256))) for _ in range(width * channels))
        for _ in range(height)
    ]
    rows[height // 2 :] = rows[: height - height // 2]
    return rows


def luma(r: int, g: int, b: int) -> int:
    return (299 * r + 587 * g + 114 * b + 500) // 1000


def expected(rows: list[bytes], channels: int) -> str:
    pixels = [row[i : i + channels] for row in rows for i in range(0, len(row), channels)]
    grey = bytes(p[0] if channels < 3 else luma(p[0], p[1], p[2]) for p in pixels)
    return f"{len(rows[0]) // channels} {len(rows)} {grey.hex()}"


# --------------------------------------------------------------------------- PNG
@pytest.mark.parametrize("colour_type", CHANNELS)
def test_png_of_every_colour_type_and_filter(image_tool: Path, tmp_path: Path, colour_type: int) -> None:
    channels = CHANNELS[colour_type]
    rows = noise(13, 20, channels)
    data = png(rows, colour_type, [i % 5 for i in range(20)], parts=3)
    assert read(image_tool, tmp_path, data) == expected(rows, channels)


@pytest.mark.parametrize("level", [0, 1, 9])
@pytest.mark.parametrize("strategy", [zlib.Z_DEFAULT_STRATEGY, zlib.Z_FIXED, zlib.Z_HUFFMAN_ONLY, zlib.Z_RLE])
def test_png_of_every_kind_of_deflate_block(
    image_tool: Path, tmp_path: Path, level: int, strategy: int
) -> None:
    rows = noise(300, 260, 1)  # above 65,535 bytes: several stored blocks
    stream = compress(filtered(rows, 1, [0] * 260), level, strategy)
    assert read(image_tool, tmp_path, png(rows, 0, [0] * 260, stream)) == expected(rows, 1)


def test_written_png_is_what_was_read(image_tool: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.png"
    subprocess.run([str(image_tool), "--rewrite", str(CELL), str(out)], check=True)
    before, after = run(image_tool, CELL, out)
    assert before == after
    assert before.startswith("550 660 ")


def test_written_png_is_valid_for_another_reader(image_tool: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.png"
    subprocess.run([str(image_tool), "--rewrite", str(CELL), str(out)], check=True)
    data, at, kinds, stream = out.read_bytes(), 8, [], b""
    assert data[:8] == SIGNATURE
    while at < len(data):
        (size,) = struct.unpack_from(">I", data, at)
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        assert data[at : at + 12 + size] == chunk(kind, body)
        kinds.append(kind)
        stream += body if kind == b"IDAT" else b""
        at += 12 + size
    assert kinds == [b"IHDR", b"IDAT", b"IEND"]
    assert len(zlib.decompress(stream)) == 660 * (1 + 3 * 550)


# --------------------------------------------------------------------------- PGM, PPM
@pytest.mark.parametrize(
    ("data", "result"),
    [
        (b"P5\n# a comment\n3 2\n255\n\x00\x01\x02\xfd\xfe\xff", "3 2 000102fdfeff"),
        (b"P5 2 1 15\n\x00\x0f", "2 1 00ff"),
        (b"P2\n2 2\n15\n0 15\n7 3\n", "2 2 00ff7733"),
        (b"P6 1 1 255\n\xff\x00\x80", f"1 1 {luma(255, 0, 128):02x}"),
        (b"P3 1 1 255 255 0 128", f"1 1 {luma(255, 0, 128):02x}"),
    ],
)
def test_netpbm(image_tool: Path, tmp_path: Path, data: bytes, result: str) -> None:
    assert read(image_tool, tmp_path, data) == result


# --------------------------------------------------------------------------- bad files
ROWS = [b"\x01\x02", b"\x03\x04"]
RAW = filtered(ROWS, 1, [0, 0])


def with_stream(stream: bytes) -> bytes:
    return png(ROWS, 0, [0, 0], stream)


BAD = {
    "empty": (b"", "neither PGM, PPM nor PNG"),
    "text": (b"hello, world\n", "neither PGM, PPM nor PNG"),
    "pgm cut": (b"P5 3 2 255\nab", "the picture ends early"),
    "pgm header cut": (b"P5 3", "the picture ends early"),
    "pgm huge": (b"P5 99999 2 255\n", "a number is above 16384"),
    "pgm huge and short": (b"P2 16384 16384 255 1", "the picture ends early"),
    "pgm 16 bits": (b"P5 1 1 65535\n\0\0", "a number is above 255"),
    "pgm above its top": (b"P5 1 1 15\n\x10", "above the largest"),
    "pgm of no size": (b"P5 0 1 15\n", "the picture is empty"),
    "png signature only": (SIGNATURE, "the PNG ends early"),
    "png cut": (png(ROWS, 0, [0, 0])[:-20], "the PNG ends early"),
    "png without IHDR": (SIGNATURE + chunk(b"IEND", b""), "IHDR is not the first chunk"),
    "png of 16 bits": (SIGNATURE + header(1, 1, depth=16), "only 8 bits a channel"),
    "png with a palette": (SIGNATURE + header(1, 1, colour_type=3), "only grey and RGB"),
    "png interlaced": (SIGNATURE + header(1, 1, interlace=1), "interlaced"),
    "png too large": (SIGNATURE + header(16385, 1), "larger than 16384"),
    "png of no size": (SIGNATURE + header(0, 1), "the picture is empty"),
    "png with a wrong CRC": (png(ROWS, 0, [0, 0]).replace(b"IDAT", b"IDAU"), "CRC is wrong"),
    "png without pixels": (SIGNATURE + header(2, 2) + chunk(b"IEND", b""), "no zlib stream"),
    "png with too few pixels": (with_stream(compress(RAW[:-1])), "fewer pixels"),
    "png with too many pixels": (with_stream(compress(RAW + b"\0")), "more than the picture needs"),
    "png bomb": (with_stream(compress(bytes(50_000_000), 9)), "more than the picture needs"),
    "png with a wrong Adler-32": (with_stream(compress(RAW)[:-1] + b"\0"), "pixel data is damaged"),
    "png with an unknown filter": (with_stream(compress(b"\x05" + RAW[1:])), "unknown filter"),
    "deflate block of type 3": (with_stream(b"\x78\x01\x07\0\0\0\0"), "reserved type"),
    "deflate stored length": (with_stream(b"\x78\x01\x01\x01\x00\x00\x00\0\0\0\0"), "damaged stored block"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_file(image_tool: Path, tmp_path: Path, name: str) -> None:
    data, message = BAD[name]
    line = read(image_tool, tmp_path, data)
    assert line.startswith("error: FILE: ")
    assert message in line


def test_missing_file_and_folder(image_tool: Path, tmp_path: Path) -> None:
    missing, folder = run(image_tool, tmp_path / "none.png", tmp_path)
    assert missing.endswith("none.png: cannot be opened")
    assert folder.endswith(": cannot be read")


def test_damaged_files_are_errors_never_crashes(image_tool: Path, tmp_path: Path) -> None:
    """Deterministic damage; chunk CRCs are mended so that it reaches the decoder behind them."""
    rng = random.Random(7)
    rows = noise(40, 30, 1)
    stream = compress(filtered(rows, 1, [i % 5 for i in range(30)]))
    files = []
    for number in range(300):
        bad = bytearray(stream)
        for _ in range(rng.randrange(1, 4)):
            bad[rng.randrange(2, len(bad))] = rng.randrange(256)
        file = tmp_path / f"{number}.png"
        file.write_bytes(
            png(rows, 0, [0] * 30, bytes(bad[: rng.choice((len(bad), rng.randrange(6, len(bad))))]))
        )
        files.append(file)
    lines = run(image_tool, *files)
    assert len(lines) == len(files)
    assert sum(line.startswith("error: ") for line in lines) >= 290  # Adler-32 lets little through
