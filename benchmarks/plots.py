"""Pictures of what was measured, if matplotlib is installed: build/benchmarks/*.png, which git ignores."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

from benchmarks.curves import CURVES, Curves
from benchmarks.server import BUILD


def draw(ratios: Mapping[str, Mapping[str, float]], curves: Curves) -> None:
    print()
    if find_spec("matplotlib") is None:
        print("No pictures: matplotlib is not installed.")
        return
    BUILD.mkdir(parents=True, exist_ok=True)
    _draw_ratios(ratios)
    _draw_curves(curves)
    print(f"Pictures: {BUILD.relative_to(BUILD.parents[1])}/ratios.png and curves.png")


def _draw_ratios(ratios: Mapping[str, Mapping[str, float]]) -> None:
    from matplotlib.figure import Figure  # noqa: PLC0415  # it takes a second, and may be missing

    peers = list(next(iter(ratios.values())))
    figure = Figure(figsize=(14, 6), layout="constrained")
    axes = figure.subplots()
    width = 0.8 / len(peers)
    for position, peer in enumerate(peers):
        places = [work + position * width for work in range(len(ratios))]
        axes.bar(places, [each[peer] for each in ratios.values()], width, label=peer)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_xticks([work + 0.4 - width / 2 for work in range(len(ratios))], list(ratios))
    axes.set_ylabel(f"processor time, times that of {peers[0]}")
    axes.legend(ncols=2)
    figure.savefig(BUILD / "ratios.png", dpi=120)


def _draw_curves(curves: Curves) -> None:
    from matplotlib.figure import Figure  # noqa: PLC0415  # the same

    figure = Figure(figsize=(14, 9), layout="constrained")
    for axes, (name, lines) in zip(figure.subplots(2, 2).flat, curves.items(), strict=True):
        for peer, points in lines.items():
            axes.loglog(list(points), [taken[0] for taken in points.values()], marker="o", label=peer)
        axes.set_xlabel(CURVES[name][0] if name in CURVES else "tasks at a time")
        axes.set_ylabel("processor time, µs for each " + ("item" if name in CURVES else "get"))
        axes.legend()
    figure.savefig(BUILD / "curves.png", dpi=120)
