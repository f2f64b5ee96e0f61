# SPDX-License-Identifier: Apache-2.0
"""Draws what run.py measured as one HTML page that needs nothing else."""
import html

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem;
       color: #1a1a1a; background: #fff; }
table { border-collapse: collapse; margin: 1rem 0 2rem; }
th, td { padding: .35rem .7rem; text-align: right; border: 1px solid #ccc; }
th:first-child { text-align: left; font-weight: 500; }
td small { display: block; color: #555; }
td.kept { background: #e3f1e3; } td.broken { background: #f6c9c4; } td.shown { background: #f2f2f2; }
@media (prefers-color-scheme: dark) {
  body { color: #e6e6e6; background: #161616; } th, td { border-color: #444; }
  td small { color: #aaa; } td.kept { background: #1d3a1f; } td.broken { background: #6b1f18; }
  td.shown { background: #242424; }
}
"""


def cell_text(cell):
    if cell is None:
        return "<td></td>"
    kind = "broken" if cell["broken"] else "kept" if cell["promise"] else "shown"
    runs = "; ".join(
        f"{name} {run['goodput'] / 1e6:.4g} MB/s" +
        (f", spread {run['spread_us']:.4g} us" if run["spread_us"] is not None else "")
        for name, run in cell["runs"].items())
    floors = f"<small>{cell['floors']:.2f} floors</small>" if "floors" in cell else ""
    share = f"{100 * cell['of_best']:.0f} %" if "of_best" in cell else "failed"
    return f'<td class="{kind}" title="{html.escape(runs)}">{share}{floors}</td>'


def table(title, cells):
    sizes = list(dict.fromkeys(c["size"] for c in cells))
    shapes = list(dict.fromkeys(c["shape"] for c in cells))
    by_place = {(c["shape"], c["size"]): c for c in cells}
    head = "".join(f"<th>{html.escape(s)}</th>" for s in sizes)
    rows = "".join(
        f"<tr><th>{html.escape(shape)}</th>" +
        "".join(cell_text(by_place.get((shape, size))) for size in sizes) + "</tr>"
        for shape in shapes)
    return f"<h2>{html.escape(title)}</h2><table><tr><th></th>{head}</tr>{rows}</table>"


def page(record):
    groups = {}
    for cell in record["cells"]:
        title = cell["place"] if cell["promise"] else f"{cell['place']}, disturbed"
        groups.setdefault(title, []).append(cell)
    broken = sum(bool(c["broken"]) for c in record["cells"])
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>weft: schedules</title><style>{STYLE}</style></head><body>"
        "<h1>The default schedule against the best</h1>"
        "<p>Goodput of <b>grant</b> as a share of the best schedule's in the same cell, and its "
        "median spread in floors. Rows: input nodes x compute nodes; columns: size of a "
        f"contribution. Promised in quiet cells: {100 * record['share']:.0f} %, and "
        f"{record['floors']} floors where links decide. {broken} of {len(record['cells'])} cells "
        "break the promise (red). Grey cells are disturbed and shown as they are. Point at a cell "
        "for the figures of all schedules.</p>" +
        "".join(table(title, cells) for title, cells in groups.items()) + "</body></html>\n")
