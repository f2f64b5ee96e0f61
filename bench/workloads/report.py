# SPDX-License-Identifier: Apache-2.0
"""Draws what run.py measured."""
import html

import page

# A dot per median, a line from the fastest to the slowest run, in the theme's colours.
SCRIPT = """
const y = { field: 'name', type: 'nominal', sort: data.names, title: null };
const hue = { field: 'name', type: 'nominal', scale: { domain: data.names, range }, legend: null };
function specification(values) {
  return { data: { values }, width: 'container', height: { step: 24 }, layer: [
    { mark: { type: 'rule', strokeWidth: 2 }, encoding: { y, color: hue,
      x: { field: 'least', type: 'quantitative', title: 'seconds', scale: { domainMin: 0 },
        axis: { tickCount: 8 } },
      x2: { field: 'most' } } },
    { mark: { type: 'point', filled: true, size: 90, opacity: 1 }, encoding: { y, color: hue,
      x: { field: 'median', type: 'quantitative' },
      tooltip: [{ field: 'name' }, { field: 'median', title: 'median, s', format: '.3f' },
        { field: 'least', title: 'least, s', format: '.3f' },
        { field: 'most', title: 'most, s', format: '.3f' }] } }] };
}
draw(Object.fromEntries(Object.entries(data.figures).map(([id, v]) => [id, specification(v)])));
"""


def table(rows, fabrics):
    head = "".join(f"<th>{html.escape(page.NAMES[f])}</th>" for f in fabrics)
    lines = [f"<table><thead><tr><th>program</th>{head}</tr></thead><tbody>"]
    for row in rows:
        cells = []
        for fabric in fabrics:
            f = row["fabrics"].get(fabric)
            cells.append(f"<td>{f['median_s']:.3f} <small>({f['min_s']:.3f} to {f['max_s']:.3f}), "
                         f"start {f['startup_median_s']:.2f}</small></td>" if f else "<td>–</td>")
        lines.append(f"<tr><th>{html.escape(row['workload'])}</th>{''.join(cells)}</tr>")
    return "\n".join([*lines, "</tbody></table>"])


def identifier(row):
    return f"f{row['figure'].replace('.', '-')}"


def section(row):
    if row["published"]:
        title = (f"{html.escape(row['workload'])}<span class=\"paper\">paper 4, Fig. "
                 f"{row['figure']}: {html.escape(row['published'])}</span>")
    else:
        title = f"{html.escape(row['workload'])}<span class=\"paper\">small messages</span>"
    return f"<section><h2>{title}</h2>{page.chart(identifier(row))}</section>"


def write(path, result, build):
    """Returns the path, or why there is no page."""
    rows = result["rows"]
    fabrics = [f for f in page.NAMES if any(f in row["fabrics"] for row in rows)]
    figures = {}
    for row in rows:
        figures[identifier(row)] = [
            {"name": page.NAMES[f], "median": v["median_s"], "least": v["min_s"],
             "most": v["max_s"]} for f, v in row["fabrics"].items()]
    exceptions = f", except: {html.escape(str(result['failures']))}" if result["failures"] else ""
    return page.write(
        path, build, title="Programs on fabrics", heading="Programs on weft’s fabrics and on MPI",
        summary=f"{result['processes']} processes on {result['processors']} processors; medians of "
                f"{result['repeat']} runs in turn, with the fastest and the slowest. Times are the "
                "program’s own; what a command needs besides to start and to end is “start”. All "
                f"runs of a program printed the same checksum{exceptions}.",
        main="\n".join([*(section(row) for row in rows),
                        "<section><h2>All figures as numbers, in seconds</h2><div class=\"scroll\">",
                        table(rows, fabrics), "</div></section>"]),
        data={"names": [page.NAMES[f] for f in fabrics], "figures": figures}, script=SCRIPT)
