# SPDX-License-Identifier: Apache-2.0
"""Draws what run.py measured: a page of its own with everything it needs, like the reports of weft.

The looks are src/report/web's; the chart libraries are those that the build fetched for them."""
import html
import json
import pathlib

WEB = pathlib.Path(__file__).resolve().parents[2] / "src" / "report" / "web"
NAMES = {"tcp": "weft tcp", "auto": "weft auto", "openmpi-tcp": "Open MPI, TCP",
         "openmpi-shm": "Open MPI, shared memory", "mpich": "MPICH"}
# A dot per median, a line from the fastest to the slowest run, in the theme's colours.
SCRIPT = """
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const style = getComputedStyle(document.documentElement);
const colour = (name) => style.getPropertyValue(name).trim();
const range = data.names.map((_, i) => colour(`--run-${i % 8}`));
const config = { background: 'transparent', font: 'system-ui', view: { stroke: null },
  axis: { labelColor: colour('--muted'), titleColor: colour('--muted'), gridColor: colour('--line'),
    domainColor: colour('--strong-line'), tickColor: colour('--strong-line'), labelLimit: 200 } };
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
(async () => {
  for (const [figure, values] of Object.entries(data.figures)) {
    await vegaEmbed(document.getElementById(figure), specification(values),
      { actions: false, ast: true, renderer: 'svg', defaultStyle: false, config });
  }
  document.documentElement.dataset.charts = 'drawn';
})();
"""


def embedded(value):
    """JSON that nothing in it can end the element of."""
    text = json.dumps(value)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def table(rows, fabrics):
    head = "".join(f"<th>{html.escape(NAMES[f])}</th>" for f in fabrics)
    lines = [f"<table><thead><tr><th>program</th>{head}</tr></thead><tbody>"]
    for row in rows:
        cells = []
        for fabric in fabrics:
            f = row["fabrics"].get(fabric)
            cells.append(f"<td>{f['median_s']:.3f} <small>({f['min_s']:.3f} to {f['max_s']:.3f}), "
                         f"start {f['startup_median_s']:.2f}</small></td>" if f else "<td>–</td>")
        lines.append(f"<tr><th>{html.escape(row['workload'])}</th>{''.join(cells)}</tr>")
    return "\n".join([*lines, "</tbody></table>"])


def section(row):
    if row["published"]:
        title = (f"{html.escape(row['workload'])}<span class=\"paper\">paper 4, Fig. "
                 f"{row['figure']}: {html.escape(row['published'])}</span>")
    else:
        title = f"{html.escape(row['workload'])}<span class=\"paper\">small messages</span>"
    return (f"<section><h2>{title}</h2><div class=\"panel\">"
            f"<div class=\"chart\" id=\"f{row['figure'].replace('.', '-')}\"></div></div></section>")


def write(path, result, build):
    """Returns the path, or why there is no page."""
    libraries = build / "src" / "report" / "web" / "libraries.js"
    if not libraries.exists():
        return f"none: {libraries} is not there; build weft in that directory"
    rows = result["rows"]
    fabrics = [f for f in NAMES if any(f in row["fabrics"] for row in rows)]
    figures = {}
    for row in rows:
        figures[f"f{row['figure'].replace('.', '-')}"] = [
            {"name": NAMES[f], "median": v["median_s"], "least": v["min_s"], "most": v["max_s"]}
            for f, v in row["fabrics"].items()]
    data = embedded({"names": [NAMES[f] for f in fabrics], "figures": figures})
    path.write_text("\n".join([
        (WEB / "head.html").read_text(), "<title>Programs on fabrics · weft</title>\n<style>",
        (WEB / "style.css").read_text(), "</style>\n</head>", (WEB / "brand.html").read_text(),
        "<h1>Programs on weft’s fabrics and on MPI</h1>",
        f"<p class=\"summary\">{result['processes']} processes on {result['processors']} "
        f"processors; medians of {result['repeat']} runs in turn, with the fastest and the slowest. "
        "Times are the program’s own; what a command needs besides to start and to end is “start”. "
        "All runs of a program printed the same checksum"
        f"{'' if not result['failures'] else ', except: ' + html.escape(str(result['failures']))}."
        "</p>\n</header>\n<main>", *(section(row) for row in rows),
        "<section><h2>All figures as numbers, in seconds</h2><div class=\"scroll\">",
        table(rows, fabrics), "</div></section>\n</main>",
        f"<script type=\"application/json\" id=\"data\">{data}</script>",
        f"<script>\n{libraries.read_text()}</script>\n<script>{SCRIPT}</script>",
        "</body>\n</html>\n"]))
    return path
