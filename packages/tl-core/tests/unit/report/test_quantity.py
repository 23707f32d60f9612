"""Quantities: units, arithmetic, parsing."""

import json
import pickle

import pytest

from tl_core import ArgumentTypeError, Bytes, ConfigurationError, Duration, Flops, Macs


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (-1, "-1 byte"),
        (1023, "1023 bytes"),
        (1024, "1.00 KiB"),
        (10_240, "10.0 KiB"),
        (102_400, "100 KiB"),
        (1023 * 1024, "1,023 KiB"),
        (1024**2 - 1, "1.00 MiB"),
        (1_500_000_000, "1.40 GiB"),
        (-2048, "-2.00 KiB"),
        (1024**5, "1.00 PiB"),
        (1024**8, "1.00 YiB"),
        (5000 * 1024**8, "5,000 YiB"),
    ],
)
def test_bytes_print_binary_prefixes(value, text):
    assert str(Bytes(value)) == text
    assert f"{Bytes(value)}" == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 FLOPs"),
        (1, "1 FLOP"),
        (999, "999 FLOPs"),
        (1000, "1.00 kFLOPs"),
        (1049, "1.05 kFLOPs"),
        (999_499, "999 kFLOPs"),
        (999_500, "1.00 MFLOPs"),
        (3_628_000_000, "3.63 GFLOPs"),
        (9_994_999_999, "9.99 GFLOPs"),
        (9_995_000_000, "10.0 GFLOPs"),
        (10**24, "1.00 YFLOPs"),
        (10**30, "1,000,000 YFLOPs"),
    ],
)
def test_flops_print_si_prefixes(value, text):
    assert str(Flops(value)) == text


def test_macs():
    assert str(Macs(1_814_000_000)) == "1.81 GMACs"
    assert str(Macs(1)) == "1 MAC"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 ns"),
        (1e-9, "1 ns"),
        (999e-9, "999 ns"),
        (1.5e-6, "1.50 \N{MICRO SIGN}s"),
        (0.0123, "12.3 ms"),
        (0.99996, "1.00 s"),
        (1, "1 s"),
        (59.94, "59.9 s"),
        (119, "119 s"),
        (120, "2 min 0 s"),
        (3725, "1 h 2 min"),
        (-0.5, "-500 ms"),
        (-150, "-2 min 30 s"),
    ],
)
def test_durations_print_the_unit_that_fits(seconds, text):
    assert str(Duration(seconds)) == text


def test_reprs_can_be_evaluated():
    for value in (Bytes(3), Flops(4), Macs(5), Duration(0.25)):
        same = eval(repr(value))  # the repr is the point
        assert same == value
        assert type(same) is type(value)


def test_arithmetic_keeps_the_type():
    for kind in (Bytes, Flops, Macs):
        results = [
            (kind(3) + kind(4), 7),
            (kind(3) + 4, 7),
            (4 + kind(3), 7),
            (kind(9) - kind(4), 5),
            (9 - kind(4), 5),
            (kind(3) * 2, 6),
            (2 * kind(3), 6),
            (-kind(3), -3),
            (abs(kind(-3)), 3),
            (sum([kind(1), kind(2)]), 3),
        ]
        for result, expected in results:
            assert result == expected
            assert type(result) is kind
        assert kind(8) / kind(2) == 4.0
        assert type(kind(8) / kind(2)) is float
        assert kind(7) // kind(2) == 3
    for result, expected in [
        (Duration(1) + Duration(2), 3),
        (1 + Duration(2), 3),
        (Duration(3) - 1, 2),
        (3 - Duration(1), 2),
        (Duration(2) * 1.5, 3),
        (2 * Duration(2), 4),
        (-Duration(1), -1),
        (abs(Duration(-1)), 1),
        (sum([Duration(1), Duration(1)]), 2),
        (Duration.from_ns(2_500_000_000), 2.5),
    ]:
        assert result == expected
        assert type(result) is Duration
    assert type(Duration(3) / Duration(2)) is float


@pytest.mark.parametrize(
    "mixed",
    [
        lambda: Bytes(1) + Flops(1),
        lambda: Flops(1) - Macs(1),
        lambda: Flops(2) * Flops(2),
        lambda: Duration(2) * Duration(2),
    ],
)
def test_units_do_not_mix(mixed):
    with pytest.raises(TypeError):
        mixed()


def test_they_are_ordinary_numbers():
    assert Bytes(5) == 5
    assert sorted([Flops(3), Flops(1)]) == [1, 3]
    assert {Bytes(5): "x"}[5] == "x"
    assert json.dumps([Bytes(5), Duration(0.5)]) == "[5, 0.5]"
    assert type(pickle.loads(pickle.dumps(Bytes(5)))) is Bytes
    assert f"{Bytes(1234567):,}" == "1,234,567"
    assert f"{Bytes(255):x}" == "ff"
    assert f"{Duration(0.5):.3f}" == "0.500"
    assert f"{Bytes(2048):>10}" == "  2.00 KiB"
    assert f"{Duration(0.5):>8}" == "  500 ms"


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("512", 512),
        ("1GB", 10**9),
        ("1 gb", 10**9),
        ("1.5 GB", 1_500_000_000),
        ("1GiB", 2**30),
        (" 20k ", 20_000),
        ("2KiB", 2048),
        ("0", 0),
        (".5M", 500_000),
        ("3 bytes", 3),
        ("7 B", 7),
        ("2T", 2 * 10**12),
        (4096, 4096),
    ],
)
def test_parse(text, size):
    parsed = Bytes.parse(text)
    assert parsed == size
    assert type(parsed) is Bytes


@pytest.mark.parametrize("text", ["", "GB", "1 XB", "-1GB", "1,5 GB", "1 iB", "1e9", "one"])
def test_what_is_not_a_size(text):
    with pytest.raises(ConfigurationError) as refused:
        Bytes.parse(text)
    assert refused.value.code == "size_invalid"
    assert refused.value.problem == f"{text!r} is not a size."
    assert refused.value.remedy == ("write a number and a unit: '512MB' is 512,000,000 bytes, '512MiB' is 536,870,912")


@pytest.mark.parametrize("value", [None, 1.5, True, b"1GB"])
def test_parse_takes_text_or_int(value):
    with pytest.raises(ArgumentTypeError, match="A size is a text such as '1GB' or a number of bytes, not"):
        Bytes.parse(value)
