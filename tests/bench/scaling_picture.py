# SPDX-License-Identifier: Apache-2.0
"""The speed-up by number of workers as an SVG, for light and dark themes."""
import html

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 700, 330, 60, 280, 30, 430
STYLE = """\
    svg { --ink: #1f2328; --faint: #59636e; --line: #d1d9e0; --a: #0969da; --b: #bc4c00; --c: #1a7f37; --page: #ffffff; background: var(--page); }
    @media (prefers-color-scheme: dark) {
      svg { --ink: #e6edf3; --faint: #9198a1; --line: #3d444d; --a: #58a6ff; --b: #f0883e; --c: #3fb950; --page: #0d1117; }
    }
    text { fill: var(--ink); }
    .small { fill: var(--faint); font-size: 13px; }
    .grid { stroke: var(--line); }
    .ideal { stroke: var(--faint); stroke-dasharray: 4 4; fill: none; }
    .a { --mark: var(--a); } .b { --mark: var(--b); } .c { --mark: var(--c); }
    polyline { stroke: var(--mark); stroke-width: 2; fill: none; }
    circle { fill: var(--mark); }
    .a text, .b text, .c text { fill: var(--mark); }"""


def draw(rates, workers, cores):
    """`rates`: {name: [samples per second, for each of `workers`]}. Three of them at most. Ideal is a worker's speed times workers, as far as there are cores."""
    most = max(workers)

    def place(count, gain):
        return f"{LEFT + (RIGHT - LEFT) * (count - 1) / (most - 1):.1f}", f"{BOTTOM - (BOTTOM - TOP) * gain / most:.1f}"

    lines = []
    for gain in range(most + 1):
        y = place(1, gain)[1]
        lines.append(f'<path class="grid" d="M{LEFT} {y}H{RIGHT}"/><text class="small" x="{LEFT - 10}" y="{y}" dy="4" text-anchor="end">{gain}×</text>')
    for count in workers:
        lines.append(f'<text class="small" x="{place(count, 0)[0]}" y="{BOTTOM + 22}" text-anchor="middle">{count}</text>')
    lines.append(f'<text class="small" x="{(LEFT + RIGHT) / 2}" y="{BOTTOM + 42}" text-anchor="middle">workers, on {cores} cores</text>')
    corners = sorted({1, *workers, min(cores, most)})
    ideal = " ".join(",".join(place(count, min(count, cores))) for count in corners)
    x, y = place(most, min(cores, most))
    lines.append(f'<polyline class="ideal" points="{ideal}"/><text class="small" x="{float(x) + 10}" y="{y}" dy="-6">what {cores} cores can do</text>')
    told_at = float(y) - 6
    for style, (name, speeds) in sorted(zip("abc", rates.items(), strict=False), key=lambda entry: -entry[1][1][-1] / entry[1][1][0]):
        gains = [speed / speeds[0] for speed in speeds]
        points = [place(count, gain) for count, gain in zip(workers, gains, strict=True)]
        dots = "".join(f'<circle cx="{cx}" cy="{cy}" r="4"/>' for cx, cy in points)
        told_at = max(told_at + 20, float(points[-1][1]) + 5)  # below the one before
        lines.append(f'<g class="{style}"><polyline points="{" ".join(map(",".join, points))}"/>{dots}')
        lines.append(f'<text x="{float(x) + 10}" y="{told_at:.1f}">{html.escape(name)}: {gains[-1]:.2f}×</text></g>')
    told = "; ".join(f"{name} " + ", ".join(f"{count}: {speed / speeds[0]:.2f}" for count, speed in zip(workers, speeds)) for name, speeds in rates.items())
    body = "\n".join(f"  {line}" for line in lines)
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="title" font-family="system-ui, sans-serif" font-size="15">
  <!-- SPDX-License-Identifier: Apache-2.0. Made by ./dev bench scaling. -->
  <title id="title">Speed-up by workers on {cores} cores: {html.escape(told)}</title>
  <style>
{STYLE}
  </style>
{body}
</svg>
"""
