"""Renders a demo.json as SVG: tokens/s and accept length against the rows that a draft step scores.

Text and axes are in a grey that is readable on light and dark backgrounds; the background is transparent.
"""

import math

import tables

WIDTH, HEIGHT = 900, 580  # without the legend
LEGEND_ROW = 22
PANEL_WIDTH, PANEL_HEIGHT = 340, 200
LEFT, TOP, GAP_X, GAP_Y = 62, 44, 72, 62
GREY = "#7d8590"
COLOURS = ("#2f81f7", "#d9730d", "#2da44e")  # one per draft
STYLE = f"text {{ font: 12px system-ui, sans-serif; fill: {GREY}; }} .title {{ font-weight: 600; }}"


def ticks(low, high):
    """About five round values that span [low, high]."""
    high = max(high, low + 1e-6 * max(1.0, abs(low)))  # a curve may be flat
    step = 10 ** math.floor(math.log10((high - low) / 4))
    step *= next(m for m in (1, 2, 2.5, 5, 10) if (high - low) / (step * m) <= 5)
    first = math.floor(low / step) * step
    return [first + i * step for i in range(math.ceil((high - first) / step - 1e-9) + 1)]


class Panel:
    """One diagram with a logarithmic x axis over sizes and a linear y axis over values."""

    def __init__(self, column, row, title, sizes, values):
        self.x0 = LEFT + column * (PANEL_WIDTH + GAP_X)
        self.y0 = TOP + row * (PANEL_HEIGHT + GAP_Y)
        self.sizes = sorted(sizes)
        self.ticks = ticks(min(values), max(values))
        self.parts = [self._text(self.x0, self.y0 - 12, title, "start", "title")]
        self._axes()

    def x(self, size):
        low, high = math.log2(self.sizes[0]), math.log2(self.sizes[-1])
        return self.x0 + 12 + (math.log2(size) - low) / (high - low) * (PANEL_WIDTH - 24)

    def y(self, value):
        low, high = self.ticks[0], self.ticks[-1]
        return self.y0 + PANEL_HEIGHT - (value - low) / (high - low) * PANEL_HEIGHT

    def _text(self, x, y, text, anchor="middle", kind="label"):
        return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'

    def _axes(self):
        right, bottom = self.x0 + PANEL_WIDTH, self.y0 + PANEL_HEIGHT
        step = self.ticks[1] - self.ticks[0]
        places = next(p for p in range(9) if abs(round(step, p) - step) < 1e-9)
        for value in self.ticks:
            y = self.y(value)
            self.parts.append(f'<path d="M{self.x0} {y:.1f}H{right}" stroke="{GREY}" stroke-opacity="0.25"/>')
            self.parts.append(self._text(self.x0 - 6, y + 4, f"{value:,.{places}f}", "end"))
        for size in self.sizes:
            x = self.x(size)
            self.parts.append(f'<path d="M{x:.1f} {bottom}v5" stroke="{GREY}"/>')
            self.parts.append(self._text(x, bottom + 19, f"{size:,}"))
        self.parts.append(f'<path d="M{self.x0} {bottom}H{right}" stroke="{GREY}"/>')

    def level(self, value, colour):
        """Draws a dashed horizontal line."""
        self.parts.append(level_style(f"M{self.x0} {self.y(value):.1f}h{PANEL_WIDTH}", colour))

    def line(self, points, colour, kind):
        """points: {size: value}; kind: one of tables.KINDS."""
        places = [(self.x(size), self.y(value)) for size, value in sorted(points.items())]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        self.parts.append(line_style(f"M{path}", colour, kind))
        self.parts += [marker(x, y, colour, kind) for x, y in places]


def line_style(path, colour, kind):
    dashes = ' stroke-dasharray="2 3"' if kind == tables.KINDS[0] else ""
    width = 2.5 if kind == tables.KINDS[2] else 1.5
    return f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{width}"{dashes}/>'


def level_style(path, colour):
    return f'<path d="{path}" stroke="{colour}" stroke-width="1.2" stroke-dasharray="7 4" stroke-opacity="0.8"/>'


def marker(x, y, colour, kind):
    inside = colour if kind == tables.KINDS[2] else "none"
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{inside}" stroke="{colour}" stroke-width="1.5"/>'


def _legend(drafts):
    """One row per draft. Each has its own plain decoding: the machine's speed may differ between runs."""
    parts = []
    for i, name in enumerate(drafts):
        x, y, colour = LEFT, HEIGHT + i * LEGEND_ROW, COLOURS[i % len(COLOURS)]
        for kind in reversed(tables.KINDS):
            parts.append(line_style(f"M{x} {y}h28", colour, kind) + marker(x + 14, y, colour, kind))
            parts.append(f'<text x="{x + 34}" y="{y + 4}">{name}, {kind}</text>')
            x += 54 + 6.3 * len(f"{name}, {kind}")
        parts.append(level_style(f"M{x} {y}h28", colour))
        parts.append(f'<text x="{x + 34}" y="{y + 4}">plain, same run</text>')
    return parts


def svg(report):
    drafts = list(dict.fromkeys(run["draft"] for run in report["runs"]))
    height = HEIGHT + len(drafts) * LEGEND_ROW
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">',
        f"<style>{STYLE}</style>",
    ]
    for column, temperature in enumerate(sorted({run["temperature"] for run in report["runs"]})):
        runs = [run for run in report["runs"] if run["temperature"] == temperature]
        group, name = next((g, n) for g, n in tables.groups(runs[0]) if tables.select(runs[0], g))
        selected = {run["draft"]: tables.select(run, group) for run in runs}
        for row, (key, title) in enumerate((("tokens_per_s", "tokens/s"), ("accept_length", "accept length"))):
            curves = []
            for draft, (_, full, kinds) in selected.items():
                colour = COLOURS[drafts.index(draft) % len(COLOURS)]
                for kind, rows in kinds.items():
                    if rows:
                        points = {size: r[key] for size, r in rows.items()}
                        curves.append(({**points, full["base_rows"]: full[key]}, colour, kind))
            levels = {draft: plain[key] for draft, (plain, *_) in selected.items()} if row == 0 else {}
            values = [value for points, *_ in curves for value in points.values()]
            sizes = {size for points, *_ in curves for size in points}
            panel = Panel(column, row, f"{title} — {name}", sizes, values + list(levels.values()))
            for draft, level in levels.items():
                panel.level(level, COLOURS[drafts.index(draft) % len(COLOURS)])
            for curve in curves:
                panel.line(*curve)
            parts += panel.parts
    middle = LEFT + PANEL_WIDTH + GAP_X / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 28}" text-anchor="middle">rows of the head that a draft step scores</text>')
    return "\n".join(parts + _legend(drafts) + ["</svg>"]) + "\n"
