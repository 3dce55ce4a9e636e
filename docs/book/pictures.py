"""Draws the pictures of `method.md`, from one Gaussian to a decoupled deep GP: `python docs/book/pictures.py`.

NumPy alone, seeded: the same pictures each time. `check.py` draws them again and compares. Each picture is a function;
what it draws is computed, by the formulas that the page shows, and not sketched.
"""

import sys
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent / "pictures"
# Class: colours on light and on dark pages.
COLOURS = {
    "paper": ("#fff", "#15181c"),
    "ink": ("#1f2328", "#e7e9ec"),
    "muted": ("#5b636d", "#a4acb6"),
    "grid": ("#e7e9ec", "#2a2f36"),
    "blue": ("#0b66a8", "#5ab4e8"),
    "band": ("#bcd7ee", "#1f4a6b"),
    "orange": ("#b3541e", "#f0a060"),
    "green": ("#2e7d32", "#7fc97f"),
}
WIDTH, HEIGHT, LEFT, TOP, BOTTOM, GAP = 370, 230, 36, 40, 52, 20
JITTER = 1e-8


# --- Drawing


def style():
    """The style sheet: each class fills and strokes with its colour, by the reader's preference."""

    def rules(side):
        return "".join(
            f".{name}{{fill:{pair[side]}}}.{name}-line{{stroke:{pair[side]};fill:none}}"
            for name, pair in COLOURS.items()
        )

    return f"svg{{color-scheme:light dark}}{rules(0)}@media (prefers-color-scheme:dark){{{rules(1)}}}"


class Panel:
    """A chart with axes `x` and `y`, each a pair of limits, to which marks are added."""

    def __init__(self, title, x, y, x_label="", ticks=None):
        self.title, self.x, self.y, self.x_label, self.ticks = title, x, y, x_label, ticks
        self.marks = []

    def at(self, x, y):
        """Pixels of points, from the panel's upper left corner; far outside of it, points stay near its edge."""
        across = WIDTH * (np.asarray(x, float) - self.x[0]) / (self.x[1] - self.x[0])
        down = HEIGHT * (1 - (np.asarray(y, float) - self.y[0]) / (self.y[1] - self.y[0]))
        return across, np.clip(down, 0, HEIGHT)

    def path(self, x, y):
        across, down = self.at(x, y)
        return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, down, strict=True))

    def line(self, x, y, colour="blue", width=2.0, dash="", opacity=1.0):
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        faint = f' stroke-opacity="{opacity}"' if opacity < 1 else ""
        self.marks.append(
            f'<polyline points="{self.path(x, y)}" class="{colour}-line" stroke-width="{width}"{dashed}{faint}/>'
        )

    def band(self, x, low, high, colour="band", opacity=1.0):
        points = self.path(np.concatenate([x, x[::-1]]), np.concatenate([high, low[::-1]]))
        faint = f' fill-opacity="{opacity}"' if opacity < 1 else ""
        self.marks.append(f'<polygon points="{points}" class="{colour}"{faint}/>')

    def dots(self, x, y, colour="ink", radius=2.6, opacity=0.8):
        inside = (np.asarray(y) >= self.y[0]) & (np.asarray(y) <= self.y[1])
        for a, b in zip(*self.at(np.asarray(x)[inside], np.asarray(y)[inside]), strict=True):
            self.marks.append(
                f'<circle cx="{a:.1f}" cy="{b:.1f}" r="{radius}" class="{colour}" fill-opacity="{opacity}"/>'
            )

    def pegs(self, x, colour, row=0):
        """Triangles on the horizontal axis: inducing inputs."""
        for a, _ in zip(*self.at(x, np.full(len(x), self.y[0])), strict=True):
            foot = HEIGHT - 1 - 9 * row
            self.marks.append(f'<path d="M{a:.1f} {foot - 8}l4 8h-8z" class="{colour}"/>')

    def note(self, x, y, text, colour="muted", anchor="middle"):
        a, b = self.at(x, y)
        self.marks.append(f'<text x="{a:.1f}" y="{b:.1f}" text-anchor="{anchor}" class="{colour}">{text}</text>')

    def draw(self, left, top):
        out = [f'<g transform="translate({left},{top})"><text y="-14" class="ink" font-size="15">{self.title}</text>']
        across, down = self.ticks or (spread(self.x), spread(self.y))
        for value in across:
            a, _ = self.at(value, 0)
            out.append(f'<path d="M{a:.1f} 0V{HEIGHT}" class="grid-line"/>')
            out.append(f'<text x="{a:.1f}" y="{HEIGHT + 16}" text-anchor="middle" class="muted">{name(value)}</text>')
        for value in down:
            _, b = self.at(0, value)
            out.append(f'<path d="M0 {b:.1f}H{WIDTH}" class="grid-line"/>')
            out.append(f'<text x="-6" y="{b + 4.5:.1f}" text-anchor="end" class="muted">{name(value)}</text>')
        if self.x_label:
            out.append(
                f'<text x="{WIDTH / 2}" y="{HEIGHT + 34}" text-anchor="middle" class="muted">{self.x_label}</text>'
            )
        return "\n".join([*out, *self.marks, "</g>"])


def spread(limits):
    """The whole numbers within limits, or every second one where they are many."""
    values = np.arange(np.ceil(limits[0]), np.floor(limits[1]) + 1)
    return values if len(values) <= 7 else values[::2]


def name(value):
    """A number on an axis."""
    return f"{value:g}".replace("-", "−")


def picture(label, panels, legend=()):
    """Panels side by side, two a row, with a legend of (class, kind, words) below, as SVG."""
    columns, rows = min(len(panels), 2), (len(panels) + 1) // 2
    width, height = columns * (LEFT + WIDTH + GAP), rows * (TOP + HEIGHT + BOTTOM) + (22 if legend else 0)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'font-family="system-ui, sans-serif" font-size="13" role="img" aria-label="{label}">',
        f'<style>{style()}</style><rect width="{width}" height="{height}" class="paper"/>',
    ]
    for i, panel in enumerate(panels):
        out.append(panel.draw(LEFT + i % 2 * (LEFT + WIDTH + GAP), TOP + i // 2 * (TOP + HEIGHT + BOTTOM)))
    across = LEFT
    for colour, kind, words in legend:
        down = height - 14
        swatch = {
            "line": f'<path d="M0 -4.5h22" class="{colour}-line" stroke-width="2"/>',
            "dashes": f'<path d="M0 -4.5h22" class="{colour}-line" stroke-width="2" stroke-dasharray="5 4"/>',
            "band": f'<rect y="-11" width="22" height="12" class="{colour}"/>',
            "dot": f'<circle cx="11" cy="-4.5" r="3" class="{colour}"/>',
            "peg": f'<path d="M11 -10l4 8h-8z" class="{colour}"/>',
        }[kind]
        out.append(f'<g transform="translate({across},{down})">{swatch}<text x="28" class="muted">{words}</text></g>')
        across += 50 + 6.6 * len(words)
    return "\n".join([*out, "</svg>"]) + "\n"


# --- Gaussian processes


def kernel(x, z, lengthscale=0.5, variance=1.0):
    """The squared exponential `k(x, z) = σ² exp(−½ (x − z)² / ℓ²)` of scalars."""
    return variance * np.exp(-0.5 * ((x[:, None] - z[None, :]) / lengthscale) ** 2)


def normal(x, mean, variance):
    """The density of a Gaussian."""
    return np.exp(-0.5 * (x - mean) ** 2 / variance) / np.sqrt(2 * np.pi * variance)


def exact(grid, x, y, noise, lengthscale):
    """Mean and variance of a GP given rows."""
    k, k_star = kernel(x, x, lengthscale) + noise * np.eye(len(x)), kernel(grid, x, lengthscale)
    return k_star @ np.linalg.solve(k, y), 1 - np.sum(k_star * np.linalg.solve(k, k_star.T).T, axis=1)


def sparse_mean(grid, x, y, z, noise, lengthscale):
    """`k_a(x)ᵀ w` with the best `w = (σ² K_aa + K_aX K_Xa)⁻¹ K_aX y`: what the bound prefers under a Gaussian noise."""
    k_zz, k_zx = kernel(z, z, lengthscale) + JITTER * np.eye(len(z)), kernel(z, x, lengthscale)
    return kernel(grid, z, lengthscale) @ np.linalg.solve(noise * k_zz + k_zx @ k_zx.T, k_zx @ y)


def sparse_variance(grid, x, z, noise, lengthscale):
    """`k(x, x) − k_bᵀ C k_b` with the best `C = K_bb⁻¹ − (K_bb + K_bX K_Xb / σ²)⁻¹`."""
    k_zz, k_zx = kernel(z, z, lengthscale) + JITTER * np.eye(len(z)), kernel(z, x, lengthscale)
    c = np.linalg.inv(k_zz) - np.linalg.inv(k_zz + k_zx @ k_zx.T / noise)
    k_star = kernel(grid, z, lengthscale)
    return 1 - np.sum((k_star @ c) * k_star, axis=1)


def around(mean, variance, noise=0.0):
    """The limits of 95 %."""
    deviation = np.sqrt(np.maximum(variance, 0) + noise)
    return mean - 1.96 * deviation, mean + 1.96 * deviation


# --- The pictures, in the order of the page


def gaussian():
    x = np.linspace(-4, 6, 200)
    panels = []
    for mean, variance in [(0, 1), (2, 2.25)]:
        panel = Panel(
            f"Mean {mean}, standard deviation {variance**0.5:g}",
            (-4, 6),
            (0, 0.45),
            ticks=(np.arange(-4, 7, 2), [0, 0.2, 0.4]),
        )
        low, high = around(mean, variance)
        inside = np.linspace(low, high, 100)
        panel.band(inside, 0 * inside, normal(inside, mean, variance))
        panel.line(x, normal(x, mean, variance))
        panel.line([mean, mean], [0, normal(mean, mean, variance)], "ink", 1, "4 3")
        panels.append(panel)
    return picture(
        "Two Gaussians", panels, [("blue", "line", "density"), ("band", "band", "95 %"), ("ink", "dashes", "mean")]
    )


def conditioning():
    rho, seen = 0.85, 1.2
    left = Panel("Two numbers at once", (-3, 3), (-3, 3), "first")
    angle = np.linspace(0, 2 * np.pi, 120)
    factor = np.linalg.cholesky([[1, rho], [rho, 1]])
    for radius in (0.6, 1.2, 1.8, 2.45):
        ellipse = factor @ np.stack([np.cos(angle), np.sin(angle)]) * radius
        left.line(*ellipse, "blue", 1.4)
    cloud = factor @ np.random.default_rng(1).normal(size=(2, 150))
    left.dots(*cloud, "blue", 1.8, 0.4)
    left.line([seen, seen], [-3, 3], "orange", 2)
    y = np.linspace(-3, 3, 200)
    right = Panel("The second, once the first is 1.2", (-3, 3), (0, 0.85), "second", (np.arange(-3, 4), [0, 0.4, 0.8]))
    right.line(y, normal(y, 0, 1), "blue", 2, "5 4")
    right.line(y, normal(y, rho * seen, 1 - rho**2), "orange", 2.2)
    legend = [("blue", "dashes", "before"), ("orange", "line", "after the first was seen")]
    return picture("A joint Gaussian, and one number given the other", [left, right], legend)


def process():
    grid = np.linspace(-2, 2, 120)
    x, y = np.array([-1.4, -0.7, 0.1, 0.4, 1.3]), np.array([-0.9, 0.6, 0.9, 0.2, -0.6])
    rng = np.random.default_rng(3)
    panels = []
    for title, mean, covariance in [
        ("Before any row: the prior", 0 * grid, kernel(grid, grid)),
        ("Given five rows: the posterior", *posterior(grid, x, y)),
    ]:
        panel = Panel(title, (-2, 2), (-3, 3))
        panel.band(grid, *around(mean, np.diag(covariance)))
        for _ in range(5):
            # Drawn through eigenvectors, as a covariance without noise has no factor to speak of.
            values, vectors = np.linalg.eigh(covariance)
            weights = rng.normal(size=len(grid))
            signs = np.sign(vectors[np.argmax(np.abs(vectors), axis=0), np.arange(len(grid))])
            panel.line(
                grid, mean + (vectors * signs * np.sqrt(np.maximum(values, 0))) @ weights, "blue", 1.2, opacity=0.75
            )
        panel.line(grid, mean, "ink", 2)
        panels.append(panel)
    panels[1].dots(x, y, "ink", 3.6, 1)
    legend = [
        ("blue", "line", "functions drawn"),
        ("ink", "line", "mean"),
        ("band", "band", "95 %"),
        ("ink", "dot", "rows"),
    ]
    return picture("A Gaussian process before and after five rows", panels, legend)


def posterior(grid, x, y):
    """Mean and covariance of a GP with hardly any noise."""
    k, k_star = kernel(x, x) + 1e-4 * np.eye(len(x)), kernel(grid, x)
    return k_star @ np.linalg.solve(k, y), kernel(grid, grid) - k_star @ np.linalg.solve(k, k_star.T)


def wiggle(x):
    """A function whose left half is smooth and whose right half is not."""
    return np.where(x < 0, 0.9 * np.sin(2 * x), 0.9 * np.sin(9 * x))


def rows(count=120, noise=0.02):
    """Rows of `wiggle`."""
    rng = np.random.default_rng(5)
    x = np.sort(rng.uniform(-2, 2, count))
    return x, wiggle(x) + noise**0.5 * rng.normal(size=count)


def inducing():
    x, y = rows()
    grid, noise, lengthscale = np.linspace(-2, 2, 160), 0.02, 0.25
    panels = []
    for count in (6, 20):
        z = np.linspace(-1.9, 1.9, count)
        mean = sparse_mean(grid, x, y, z, noise, lengthscale)
        panel = Panel(f"{count} inducing inputs for 120 rows", (-2, 2), (-2, 2))
        panel.band(grid, *around(mean, sparse_variance(grid, x, z, noise, lengthscale), noise))
        panel.dots(x, y, "ink", 1.8, 0.6)
        panel.line(grid, exact(grid, x, y, noise, lengthscale)[0], "orange", 1.6, "5 4")
        panel.line(grid, mean)
        panel.pegs(z, "green")
        panels.append(panel)
    legend = [
        ("blue", "line", "sparse mean"),
        ("band", "band", "95 % of rows"),
        ("orange", "dashes", "exact GP"),
        ("green", "peg", "inducing inputs"),
    ]
    return picture("A sparse GP with few and with more inducing inputs", panels, legend)


def cost():
    counts = np.array([10, 20, 50, 100, 200, 500, 1000])
    left = Panel("Multiplications for a row, ten outputs", (0.6, 3.05), (1.2, 7.5), "inducing inputs M", ([], []))
    for log in (1, 2, 3):
        left.line([log, log], [1.5, 7.5], "grid", 1)
        left.note(log, 1.25, f"{10**log:,}")
    for log in range(2, 8):
        left.line([1, 3], [log, log], "grid", 1)
        left.note(0.97, log - 0.1, f"10{'⁰¹²³⁴⁵⁶⁷'[log]}", anchor="end")
    left.line(np.log10(counts), np.log10(10 * counts), "blue", 2.4)
    left.line(np.log10(counts), np.log10(10 * counts.astype(float) ** 2), "orange", 2.4)
    left.note(2.6, np.log10(10 * 10**2.6) - 0.6, "mean: 10 M", "blue")
    left.note(2.2, np.log10(10 * 10**4.4) + 0.55, "variance: 10 M²", "orange")
    x, y = rows()
    grid, noise, lengthscale = np.linspace(-2, 2, 200), 0.02, 0.25
    mean, variance = exact(grid, x, y, noise, lengthscale)
    sizes = np.arange(4, 31)
    right = Panel(
        "How far from the exact GP", (4, 30), (0, 0.6), "inducing inputs M", (np.arange(5, 31, 5), [0, 0.2, 0.4, 0.6])
    )
    places = [np.linspace(-1.9, 1.9, m) for m in sizes]
    means = [sparse_mean(grid, x, y, z, noise, lengthscale) - mean for z in places]
    variances = [np.maximum(sparse_variance(grid, x, z, noise, lengthscale), 0) for z in places]
    deviations = [np.sqrt(v + noise) - np.sqrt(variance + noise) for v in variances]
    right.line(sizes, [np.sqrt(np.mean(e**2)) for e in means], "blue", 2.4)
    right.line(sizes, [np.sqrt(np.mean(e**2)) for e in deviations], "orange", 2.4)
    return picture(
        "What mean and variance cost, and what they need",
        [left, right],
        [("blue", "line", "mean"), ("orange", "line", "standard deviation")],
    )


def decoupled():
    x, y = rows()
    grid, noise, lengthscale = np.linspace(-2, 2, 160), 0.02, 0.25
    few, many = np.linspace(-1.9, 1.9, 10), np.linspace(-1.95, 1.95, 30)
    panels = []
    for title, z_a in [("Coupled: Z = 10 points for both", few), ("Decoupled: Z_a = 30, Z_b = 10", many)]:
        mean = sparse_mean(grid, x, y, z_a, noise, lengthscale)
        panel = Panel(title, (-2, 2), (-2.2, 2))
        panel.band(grid, *around(mean, sparse_variance(grid, x, few, noise, lengthscale), noise))
        panel.dots(x, y, "ink", 1.8, 0.6)
        panel.line(grid, mean)
        panel.pegs(few, "orange")
        panel.pegs(z_a, "blue", 1)
        panels.append(panel)
    legend = [
        ("blue", "line", "mean"),
        ("band", "band", "95 % of rows"),
        ("blue", "peg", "Z_a, of the mean"),
        ("orange", "peg", "Z_b, of the variance"),
    ]
    return picture("The same number of points for the variance, more for the mean", panels, legend)


def draw(x, rng, lengthscale, basis=400):
    """A function of a GP prior at scalars `x`, by random cosines (Rahimi and Recht 2007)."""
    frequencies, phases = rng.normal(size=basis) / lengthscale, rng.uniform(0, 2 * np.pi, basis)
    weights = rng.normal(size=basis)
    return np.sqrt(2 / basis) * np.cos(np.outer(x, frequencies) + phases) @ weights


def layers():
    grid = np.linspace(-2, 2, 300)
    rng = np.random.default_rng(12)
    panels = [Panel(title, (-2, 2), (-3, 3)) for title in ("One layer", "Two layers", "Three layers", "Four layers")]
    for colour in ("blue", "orange", "green"):
        f = grid
        for panel in panels:
            f = draw(f, rng, 0.7)
            panel.line(grid, f, colour, 2)
    return picture("Functions drawn from deep GPs of one to four layers", panels, ())


def mixture():
    # A first layer that is unsure between two places, and a second that is steep between them.
    rng = np.random.default_rng(2)
    hidden_mean, hidden_deviation = 0.1, 0.35
    f = np.linspace(-1.5, 1.5, 200)

    def top(h):
        return np.tanh(4 * h)

    samples = hidden_mean + hidden_deviation * rng.normal(size=400)
    left = Panel("The last layer, and what comes in", (-1.5, 1.5), (-1.6, 1.6), "output of the hidden layer")
    density = normal(f, hidden_mean, hidden_deviation**2)
    left.band(f, -1.6 + 0 * f, -1.6 + 0.8 * density)
    left.line(f, top(f), "blue", 2.2)
    left.dots(samples[:60], top(samples[:60]), "orange", 2.6)
    y = np.linspace(-1.6, 1.6, 240)
    noise = 0.02
    mix = np.mean([normal(y, m, noise) for m in top(samples)], axis=0)
    right = Panel("What is predicted: a mixture", (-1.6, 1.6), (0, 1.6), "target", (np.arange(-1, 2), [0, 0.5, 1, 1.5]))
    for m in top(samples[:12]):
        right.line(y, normal(y, m, noise) / 8, "orange", 1, opacity=0.6)
    right.line(y, mix, "blue", 2.4)
    mean, variance = top(samples).mean(), top(samples).var() + noise
    right.line(y, normal(y, mean, variance), "ink", 1.4, "5 4")
    legend = [
        ("orange", "dot", "samples"),
        ("blue", "line", "function, mixture"),
        ("band", "band", "hidden layer"),
        ("ink", "dashes", "one Gaussian of the same moments"),
    ]
    return picture("Samples through a hidden layer become a mixture", [left, right], legend)


PICTURES = {f.__name__: f for f in (gaussian, conditioning, process, inducing, cost, decoupled, layers, mixture)}


def main():
    """Draws all pictures into the folder that is named, or into the book's."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for title, draw_it in PICTURES.items():
        (folder / f"{title}.svg").write_text(draw_it(), encoding="utf-8")


if __name__ == "__main__":
    main()
