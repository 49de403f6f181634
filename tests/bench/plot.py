#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""usage: plot.py OUTPUT-FOLDER JSON...     (Debian: python3-matplotlib)

Draws figures as SVG: times in ms, us a seam or shares, by size. JSON is what these print with --json:
  burin bench carve          figures 5.8 to 5.16 of the thesis of 2010
  tests/bench/energy_ways    its figures 5.3 to 5.6
  burin bench skeletons      figure 5 of the paper of 2017 on skeletons
  burin bench jpeg           JPEGs a second by batch: a row of panels a size; decode, encode, both
  tests/bench/edge_ways      figure 3 of the course project of 2022; `burin bench edge`: the operator's lines alone

Every figure says where and when it was measured. Axes are logarithmic where sizes are. Where a result's machine has cpu_rows,
a sentence that begins with the run that its rows of the CPU are of, figures that show such rows say so.
"""
import json
import os
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "burin", "svg.fonttype": "none", "font.size": 9, "font.family": "DejaVu Sans", "axes.grid": True, "grid.alpha": 0.3,
                            "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False})
import matplotlib.pyplot as plt  # noqa: E402

STEP_COLOURS = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377"]
OUTSIDE_COLOURS = {"other": "#cccccc", "copies": "#888888"}  # what is in no step


class Figure:
    """One SVG: made, filled, then saved with its source underneath."""

    def __init__(self, folder, name, title, machine, xlabel, ylabel, log=True):
        self.path = os.path.join(folder, name + ".svg")
        self.drawing, self.axes = plt.subplots(figsize=(5.2, 3.4))
        self.axes.set(title=title, xlabel=xlabel, ylabel=ylabel)
        if log:
            self.axes.set_xscale("log", base=10 if xlabel == "megapixels" else 2)
            self.axes.set_yscale("log")
        self.machine = machine
        self.beside = False  # the legend, its first entry lowest as in a stack
        self.of_cpu = []  # of each thing drawn: whether it is of the CPU

    def show(self, device):
        self.of_cpu.append(device.lower().startswith("cpu"))

    def line(self, points, label, device=None, **style):
        """DEVICE: the device of the points' rows; the label begins with it by default."""
        points = [(x, y) for x, y in points if y > 0]
        if points:
            self.axes.plot(*zip(*points), marker="o", markersize=3, label=label, **style)
            self.show(device or label)

    def run(self):
        """The version measured. Rows of the CPU may be of another run: the figure names it, alone where it shows no others."""
        version = self.machine["version"]
        other = self.machine.get("cpu_rows", "").split(",")[0]
        if not other or not any(self.of_cpu):
            return version
        return other if all(self.of_cpu) else f"{version}; CPU rows {other}"

    def source(self):
        machine = self.machine
        gpus = ", ".join(machine["gpus"]) or "no GPU"
        return f"{machine['date']}, {machine['cpu']} ({machine['cores']} cores), {gpus}, {self.run()}"

    def save(self):
        if self.axes.has_data():
            handles, labels = self.axes.get_legend_handles_labels()
            if self.beside:
                self.axes.legend(handles[::-1], labels[::-1], loc="center left", bbox_to_anchor=(1, 0.5))
            else:
                self.axes.legend(handles, labels)
            self.drawing.text(0.01, 0.005, self.source(), fontsize=5, color="#666666")
            self.drawing.tight_layout(rect=(0, 0.02, 1, 1))
            self.drawing.savefig(self.path, metadata={"Date": None})
            print(self.path)
        plt.close(self.drawing)


class Panels(Figure):
    """Several axes in one SVG: panel() chooses the one that is drawn into. One legend stands under all."""

    def __init__(self, folder, name, machine, rows, columns):
        self.path = os.path.join(folder, name + ".svg")
        self.drawing, self.grid = plt.subplots(rows, columns, figsize=(3.6 * columns, 2.3 * rows), squeeze=False)
        self.machine, self.beside, self.of_cpu = machine, False, []
        self.entries = {}  # of the legend: label to handle

    def panel(self, row, column, **texts):
        self.axes = self.grid[row][column]
        self.axes.set(**texts)
        self.axes.set_xscale("log")
        self.axes.set_yscale("log")

    def ticks(self, places):
        self.axes.set_xticks(places, [f"{place:.0f}" for place in places])
        self.axes.minorticks_off()

    def line(self, points, label, device=None, **style):
        super().line(points, label, device, **style)
        self.entries.update({text: handle for handle, text in zip(*self.axes.get_legend_handles_labels())})

    def save(self):
        self.drawing.legend(self.entries.values(), self.entries, loc="lower center", ncol=3, bbox_to_anchor=(0.5, 0.012))
        self.drawing.text(0.01, 0.003, self.source(), fontsize=5, color="#666666")
        lines = -(-len(self.entries) // 3)
        inches = self.drawing.get_size_inches()[1]
        self.drawing.tight_layout(rect=(0, (0.1 + 0.2 * lines) / inches, 1, 1))
        self.drawing.savefig(self.path, metadata={"Date": None})
        print(self.path)
        plt.close(self.drawing)


def of(rows, **wanted):
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def devices(rows):
    return list(dict.fromkeys(row["device"] for row in rows))


# ---- energy: figures 5.3 to 5.6

ENERGY_COLUMNS = [("cpu_plain_ms", "CPU, plain C, a core"), ("cpu_operator_ms", "CPU, operator, a core"),
                  ("gpu_global_ms", "GPU, global memory"), ("gpu_shared_ms", "GPU, shared memory"),
                  ("gpu_operator_ms", "GPU, operator")]


def draw_energy(folder, result):
    rows, machine = result["rows"], result["machine"]
    for kind in ("gradient", "sobel3", "sobel5"):
        figure = Figure(folder, "energy-" + kind, f"Energy {kind}", machine, "side, pixels", "ms")
        for column, label in ENERGY_COLUMNS:
            figure.line([(row["side"], row[column]) for row in of(rows, energy=kind)], label)
        figure.save()
    figure = Figure(folder, "energy", "The three energies, GPU with shared memory", machine, "side, pixels", "ms")
    for kind in ("gradient", "sobel3", "sobel5"):
        figure.line([(row["side"], row["gpu_shared_ms"]) for row in of(rows, energy=kind)], kind, "GPU")
    figure.save()


# ---- carve: figures 5.8 to 5.16

def outside_steps(row):
    """Milliseconds of the total outside the steps: computing between steps and before them, copies both ways."""
    return {"other": max(0, row["compute_ms"] - sum(row["steps_ms"].values())), "copies": row["upload_ms"] + row["download_ms"]}


def draw_shares(folder, rows, machine, series, axis, device, tag):
    """Figures 5.9 and 5.11: shares of the whole time, so they sum to it."""
    figure = Figure(folder, f"carve-shares-{series}-{tag}", f"Shares of the total by {axis}, {device}", machine, f"{axis}, pixels",
                    "share, %", log=False)
    figure.axes.set_xscale("log", base=2)
    figure.beside = True
    parts = [{**row["steps_ms"], **outside_steps(row)} for row in rows]
    shares = [[100 * part[name] / sum(part.values()) for part in parts] for name in parts[0]]
    colours = STEP_COLOURS[:len(rows[0]["steps_ms"])] + list(OUTSIDE_COLOURS.values())
    figure.axes.stackplot([row[axis] for row in rows], shares, labels=list(parts[0]), colors=colours)
    figure.show(device)
    figure.axes.set(ylim=(0, 100))
    figure.axes.margins(x=0)
    figure.save()


def draw_steps(folder, rows, machine, series, axis):
    """Figures 5.8 and 5.10: time of each step; and the shares, device by device."""
    for device in devices(rows):
        mine = [row for row in of(rows, series=series, device=device) if row["steps_ms"]]
        if not mine:
            continue
        tag = device.replace(", ", "-").replace(" ", "").replace(":", "")
        figure = Figure(folder, f"carve-steps-{series}-{tag}", f"Steps of a seam by {axis}, {device}", machine,
                        f"{axis}, pixels", "us a seam")
        for name, colour in zip(mine[0]["steps_ms"], STEP_COLOURS):
            figure.line([(row[axis], 1e3 * row["steps_ms"][name] / row["columns"]) for row in mine], name, device, color=colour)
        figure.save()
        draw_shares(folder, mine, machine, series, axis, device, tag)


def draw_against(folder, rows, machine, series, title, x, xlabel, log=True):
    figure = Figure(folder, "carve-" + series, title, machine, xlabel, "ms, with copies", log)
    for device in devices(rows):
        figure.line([(x(row), row["total_ms"]) for row in of(rows, series=series, device=device)], device)
    figure.save()


def draw_ratio(folder, rows, machine):
    figure = Figure(folder, "carve-ratio", "How many times faster than a core", machine, "side, pixels", "times")
    one = {row["width"]: row["total_ms"] for row in of(rows, series="square", device="cpu, 1 core")}
    for device in devices(rows):
        mine = of(rows, series="square", device=device)
        figure.line([(row["width"], one[row["width"]] / row["total_ms"]) for row in mine if row["width"] in one], device)
    figure.save()


def draw_growth(folder, rows, machine):
    """Rows x seams on the GPU until the width fills the chip, pixels x seams on the CPU."""
    figure = Figure(folder, "carve-growth", "A seam by size of a square picture", machine, "megapixels", "compute / 16 seams, us")
    for device in devices(rows):
        mine = of(rows, series="square", device=device)
        figure.line([(row["width"] * row["height"] / 1e6, row["us_a_seam"]) for row in mine], device)
    figure.save()


def draw_carve(folder, result):
    rows, machine = result["rows"], result["machine"]
    draw_steps(folder, rows, machine, "width", "width")
    draw_steps(folder, rows, machine, "height", "height")
    draw_against(folder, rows, machine, "width", "16 seams, height 2048", lambda row: row["width"], "width, pixels")
    draw_against(folder, rows, machine, "height", "16 seams, width 2048", lambda row: row["height"], "height, pixels")
    draw_against(folder, rows, machine, "square", "16 seams of a square picture", lambda row: row["width"], "side, pixels")
    draw_against(folder, rows, machine, "seams", "1024 x 1024", lambda row: row["columns"], "seams taken out", log=False)
    draw_ratio(folder, rows, machine)
    draw_growth(folder, rows, machine)


# ---- edge: figure 3 of the course project of 2022

def draw_edge(folder, result):
    rows, machine = result["rows"], result["machine"]
    figure = Figure(folder, "edge", "Sobel edges", machine, "megapixels", "ms, without copies")
    for way in dict.fromkeys(row["way"] for row in rows):
        mine = of(rows, way=way)
        figure.line([(row["width"] * row["height"] / 1e6, row["compute_ms"]) for row in mine], way)
    figure.save()


# ---- skeletons: figure 5 of the paper of 2017

def draw_skeletons(folder, result):
    """A row a skeleton: on the left computing alone, on the right with copies. Of two pictures the second is dashed."""
    rows = [row for row in result["rows"] if "picture" in row]  # the others are times to compile
    skeletons = list(dict.fromkeys(row["skeleton"] for row in rows))
    colours = dict(zip(devices(rows), STEP_COLOURS))
    figure = Panels(folder, "skeletons", result["machine"], len(skeletons), 2)
    for y, skeleton in enumerate(skeletons):
        mine = of(rows, skeleton=skeleton)
        pictures = list(dict.fromkeys(row["picture"] for row in mine))
        for x, (what, key) in enumerate((("kernel alone", "compute_ms"), ("application", "total_ms"))):
            figure.panel(y, x, title=f"{skeleton} {mine[0]['operator']}, {what}", xlabel="megapixels", ylabel="ms")
            for device, picture in ((d, p) for d in devices(mine) for p in pictures):
                points = [(row["width"] * row["height"] / 1e6, row[key]) for row in of(mine, device=device, picture=picture)]
                label = device if len(pictures) == 1 else f"{device}, {picture}"
                figure.ticks([place for place, _ in points])
                figure.line(points, label, device, color=colours.get(device), linestyle="-" if picture == pictures[0] else "--")
    figure.save()


# ---- jpeg: images a second by batch

def jpeg_ways(rows):
    """Label, rows, style: cores first, as level lines, since they take one picture at a time; then by codec and streams."""
    gpus = [row for row in rows if row["codec"] != "libjpeg-turbo"]
    for device in devices(of(rows, codec="libjpeg-turbo")):
        yield f"libjpeg-turbo, {device}", of(rows, device=device), {"linestyle": "--", "color": "#888888" if "1 core" in device else "#444444"}
    ways = dict.fromkeys((row["codec"], row["device"], row["streams"]) for row in gpus)
    for (codec, device, streams), colour in zip(ways, STEP_COLOURS):
        label = f"{codec}, {device}" + (f", {streams} streams" if codec == "burin" else "")
        yield label.replace("1 streams", "1 stream"), of(gpus, codec=codec, device=device, streams=streams), {"color": colour}


def draw_jpeg(folder, result):
    """Panels for 4:2:0 and quality 85, or for the first pair in the result."""
    rows = of(result["rows"], timing="throughput")
    pairs = dict.fromkeys((row["sampling"], row["quality"]) for row in rows)
    sampling, quality = ("4:2:0", 85) if ("4:2:0", 85) in pairs else next(iter(pairs))
    rows = of(rows, sampling=sampling, quality=quality)
    sizes = list(dict.fromkeys((row["width"], row["height"]) for row in rows))
    works = list(dict.fromkeys(row["work"] for row in rows))
    batches = sorted({row["batch"] for row in rows})
    figure = Panels(folder, "jpeg", result["machine"], len(sizes), len(works))
    for y, (width, height) in enumerate(sizes):
        for x, work in enumerate(works):
            name = "both, histeq between" if work == "both" else work
            figure.panel(y, x, title=f"{width}x{height} {sampling} q{quality}, {name}", xlabel="batch", ylabel="images a second")
            figure.axes.title.set_fontsize(8.5)
            figure.ticks(batches)
            for label, mine, style in jpeg_ways(of(rows, width=width, height=height, work=work)):
                points = [(row["batch"], row["images_s"]) for row in mine]
                if mine and mine[0]["codec"] == "libjpeg-turbo":
                    points = [(batch, points[0][1]) for batch in batches]
                figure.line(points, label, mine[0]["device"], **style)
    figure.save()


DRAW = {"energy": draw_energy, "carve": draw_carve, "edge": draw_edge, "skeletons": draw_skeletons, "jpeg": draw_jpeg}


def main(arguments):
    if len(arguments) < 2 or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if arguments and arguments[0] in ("-h", "--help") else 2
    os.makedirs(arguments[0], exist_ok=True)
    for path in arguments[1:]:
        with open(path, encoding="utf-8") as file:
            result = json.load(file)
        if result["bench"] not in DRAW:
            print(f"plot.py: {path} is of bench {result['bench']}, of which there is no figure", file=sys.stderr)
            return 2
        DRAW[result["bench"]](arguments[0], result)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
