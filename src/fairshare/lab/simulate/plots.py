"""Plots of a report as SVG files: lines over time, and distributions of waits.

A plot is text that any browser and any typesetter shows, without scripts. Names that users gave are
text in it and never markup. The same report yields the same bytes.
"""

import html
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from fairshare.core.model.resources import MEMORY
from fairshare.lab.simulate.report import Report, Sample

WIDTH: Final = 720
HEIGHT: Final = 320
LEFT, RIGHT, TOP, BOTTOM = 64, 176, 36, 44
MOST_LINES: Final = 8
MOST_POINTS: Final = 500
COLOURS: Final = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
    "#000000",
    "#999999",
)
"""The colours of Okabe and Ito, which colour-blind readers can tell apart."""


class Line(msgspec.Struct, frozen=True):
    """A named line through points (x, y); `dashed` for what was due, not what was."""

    name: str
    points: tuple[tuple[float, float], ...]
    dashed: bool = False
    colour: int = 0


class Plot(msgspec.Struct, frozen=True):
    """Lines with a title and the names of both axes."""

    title: str
    x: str
    y: str
    lines: tuple[Line, ...]
    logarithmic: bool = False  # the x axis


def plots(report: Report) -> dict[str, Plot]:
    """The plots of a report by the names of their files, without `.svg`."""
    queues = sorted(report.queues, key=lambda queue: -queue.used.get(MEMORY, 0))[:MOST_LINES]
    names = [queue.name for queue in queues]
    pictures = {
        "use": Plot(
            "Memory in use and fair shares (dashed)",
            "hours",
            "part of the cluster",
            tuple(_use(report.timeline, names)),
        ),
        "waits": Plot(
            "Waits for the first container",
            "seconds",
            "part of the applications",
            tuple(_waits(report, names)),
            logarithmic=True,
        ),
    }
    for name in names:
        kinds = ("used", "demand", "entitled", "guaranteed")
        lines = (
            Line(kind, _over_time(report.timeline, name, kind), kind == "guaranteed", number)
            for number, kind in enumerate(kinds)
        )
        title = f"{short(name)}: memory wanted, due and used"
        safe = [one if one.isalnum() and one.isascii() else "-" for one in short(name)]
        file = f"queue-{''.join(safe)}"
        if file in pictures:
            file += f"-{len(pictures)}"
        pictures[file] = Plot(title, "hours", "part of the cluster", tuple(lines))
    return pictures


def short(queue: str) -> str:
    """A queue without root."""
    return queue.removeprefix("root.")


def _use(timeline: Sequence[Sample], names: Iterable[str]) -> Iterable[Line]:
    for number, name in enumerate(names):
        yield Line(short(name), _over_time(timeline, name, "used"), False, number)
        yield Line("", _over_time(timeline, name, "fair_share"), True, number)


def _over_time(
    timeline: Sequence[Sample], queue: str, kind: str
) -> tuple[tuple[float, float], ...]:
    points = []
    for sample in timeline:
        total, found = sample.total.get(MEMORY, 0), sample.queues.get(queue)
        amount = 0.0 if found is None else getattr(found, kind).get(MEMORY, 0.0)
        if total:
            points.append((sample.at_ms / 3_600_000, amount / total))
    return tuple(points)


def _waits(report: Report, names: Sequence[str]) -> Iterable[Line]:
    for number, name in enumerate(names):
        waits = sorted(
            one.waiting_ms
            for one in report.applications
            if one.queue == name and one.waiting_ms is not None
        )
        step = max(1, len(waits) // MOST_POINTS)
        points = [
            (wait / 1000, (rank + 1) / len(waits))
            for rank, wait in enumerate(waits)
            if rank % step == 0 or rank == len(waits) - 1
        ]
        yield Line(short(name), tuple(points), False, number)


def svg(plot: Plot) -> str:
    """The text of a plot."""
    points = [point for line in plot.lines for point in line.points]
    x_ticks = _powers(x for x, _ in points) if plot.logarithmic else _ticks(x for x, _ in points)
    y_ticks = _ticks(y for _, y in points)
    across = _Scale(x_ticks, LEFT, WIDTH - RIGHT, logarithmic=plot.logarithmic)
    down = _Scale(y_ticks, HEIGHT - BOTTOM, TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
        f' width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        _text(LEFT, 20, plot.title, size=14),
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, plot.x, anchor="middle"),
        f'<g transform="translate(14 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)">'
        f"{_text(0, 0, plot.y, anchor='middle')}</g>",
    ]
    for tick in x_ticks:
        at = across(tick)
        parts.append(_rule(at, TOP, at, HEIGHT - BOTTOM))
        parts.append(_text(at, HEIGHT - BOTTOM + 16, f"{tick:g}", anchor="middle"))
    for tick in y_ticks:
        at = down(tick)
        parts.append(_rule(LEFT, at, WIDTH - RIGHT, at))
        parts.append(_text(LEFT - 6, at + 4, f"{tick:g}", anchor="end"))
    named = 0
    for line in plot.lines:
        colour = COLOURS[line.colour % len(COLOURS)]
        dashes = ' stroke-dasharray="5 4"' if line.dashed else ""
        path = " ".join(f"{across(x):.1f},{down(y):.1f}" for x, y in line.points)
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"{dashes}/>'
        )
        if line.name:
            y = TOP + 8 + 18 * named
            named += 1
            parts.append(
                f'<line x1="{WIDTH - RIGHT + 12}" y1="{y}" x2="{WIDTH - RIGHT + 36}" y2="{y}"'
                f' stroke="{colour}" stroke-width="1.5"{dashes}/>'
            )
            parts.append(_text(WIDTH - RIGHT + 42, y + 4, line.name[:18]))
    return "\n".join([*parts, "</svg>\n"])


def write_plots(directory: Path, report: Report) -> list[Path]:
    """Write all plots of a report to a directory, which is made. Raises OSError."""
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for name, plot in plots(report).items():
        path = directory / f"{name}.svg"
        path.write_text(svg(plot), encoding="utf-8")
        written.append(path)
    return written


class _Scale:
    """From values to places on the plot; the ticks are its ends."""

    def __init__(
        self, ticks: Sequence[float], begin: float, end: float, *, logarithmic: bool = False
    ) -> None:
        self._logarithmic = logarithmic
        self._low, self._begin = self._value(ticks[0]), begin
        self._step = (end - begin) / (self._value(ticks[-1]) - self._low or 1.0)
        self._least = ticks[0]

    def __call__(self, value: float) -> float:
        value = max(value, self._least) if self._logarithmic else value
        return self._begin + (self._value(value) - self._low) * self._step

    def _value(self, value: float) -> float:
        return math.log10(value) if self._logarithmic else value


def _ticks(values: Iterable[float]) -> list[float]:
    """Round numbers from 0 to at least the largest value, about five.

    >>> _ticks([0.3, 0.87])
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    most = max(values, default=0.0) or 1.0
    power = 10.0 ** math.floor(math.log10(most))
    step = next(part * power for part in (0.1, 0.2, 0.5, 1, 2) if most / (part * power) <= 6)
    count = math.ceil(most / step - 1e-9)
    return [round(number * step, 10) for number in range(count + 1)]


def _powers(values: Iterable[float]) -> list[float]:
    """Powers of ten around all values, from 0.1 on.

    >>> _powers([0.0, 3.0, 250.0])
    [0.1, 1.0, 10.0, 100.0, 1000.0]
    """
    most = max(max(values, default=1.0), 1.0)
    return [10.0**power for power in range(-1, max(1, math.ceil(math.log10(most) - 1e-9)) + 1)]


def _rule(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#ddd"/>'


def _text(x: float, y: float, text: str, *, anchor: str = "start", size: int = 12) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">'
        f"{html.escape(text)}</text>"
    )
