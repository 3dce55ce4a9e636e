"""Which rows are held out: every row once, and the same ones in Rust, in Python and on the command line."""

import numpy as np
import pytest

import deepgp


@pytest.mark.parametrize(("fraction", "seed", "expected"), [(0.2, 0, [2, 9]), (0.3, 1, [3, 5, 9]), (0.01, 2, [8])])
def test_a_split_is_of_the_rows_that_the_rust_tests_pin(fraction, seed, expected):
    rest, held_out = deepgp.split_rows(10, fraction, seed)
    assert held_out.tolist() == expected
    assert rest.tolist() == [row for row in range(10) if row not in expected]


@pytest.mark.parametrize("rows", [2, 3, 10, 8192])
@pytest.mark.parametrize("fraction", [1e-9, 0.2, 0.5, 1 - 1e-9])
def test_a_split_holds_every_row_once(rows, fraction):
    rest, held_out = deepgp.split_rows(rows, fraction, seed=5)
    assert rest.dtype == held_out.dtype == np.int64
    assert len(held_out) == np.clip(round(rows * fraction), 1, rows - 1)
    assert np.array_equal(np.sort(np.concatenate([rest, held_out])), np.arange(rows))
    for own in (rest, held_out):
        assert np.array_equal(own, np.sort(own))


def test_a_split_hangs_on_the_seed_alone():
    first = deepgp.split_rows(1000, 0.2, seed=3)
    again = deepgp.split_rows(np.int64(1000), np.float64(0.2), np.uint8(3))
    assert all(map(np.array_equal, first, again))
    assert all(map(np.array_equal, deepgp.split_rows(1000, 0.2), deepgp.split_rows(1000, 0.2, 0)))
    assert not np.array_equal(deepgp.split_rows(1000, 0.2, seed=4)[1], first[1])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((1, 0.2, 0), "`rows` is 1, but must be an integer of at least 2"),
        ((-5, 0.2, 0), "`rows` is -5"),
        ((10.0, 0.2, 0), "`rows` is 10.0, but must be an integer"),
        ((2**32, 0.2, 0), "`rows` is 4294967296, but must be at most 100000000"),
        ((2**70, 0.2, 0), "`rows` is 1180591620717411303424"),
        ((10, 0.0, 0), "`fraction` is 0, but must be above 0 and below 1"),
        ((10, 1.0, 0), "`fraction` is 1, but must be above 0 and below 1"),
        ((10, -0.2, 0), "`fraction` is -0.2"),
        ((10, float("nan"), 0), "`fraction` is nan, but must be a finite number"),
        ((10, "0.2", 0), "`fraction` is '0.2'"),
        ((10, None, 0), "`fraction` is None"),
        ((10, 0.2, -1), "`seed` is -1, but must be an integer of at least 0"),
        ((10, 0.2, None), "`seed` is None"),
        ((10, 0.2, True), "`seed` is True"),
    ],
)
def test_what_cannot_be_split_is_named(arguments, said):
    with pytest.raises(ValueError) as caught:  # noqa: PT011, the message is checked as it stands
        deepgp.split_rows(*arguments)
    assert said in str(caught.value)
