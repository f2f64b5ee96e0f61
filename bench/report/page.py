# SPDX-License-Identifier: Apache-2.0
"""A page of charts of its own with everything it needs, like the reports of weft.

The looks are src/report/web's; the chart libraries are those that the build fetched for them."""
import html
import json
import pathlib

WEB = pathlib.Path(__file__).resolve().parents[2] / "src" / "report" / "web"
# Names of the competitors, in the order in which pages show them.
NAMES = {"tcp": "weft tcp", "auto": "weft auto", "openmpi-tcp": "Open MPI, TCP",
         "openmpi-shm": "Open MPI, shared memory", "mpich": "MPICH", "mpich-tcp": "MPICH, TCP",
         "fabric-shm": "fabric shm", "fabric-shm-pull": "fabric shm, fetching",
         "fabric-tcp": "fabric tcp", "fabric-unix": "fabric tcp, Unix sockets"}
# For scripts of pages: `data`, the theme's colours by competitors' names, and `draw`.
SCRIPT = """
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const style = getComputedStyle(document.documentElement);
const colour = (name) => style.getPropertyValue(name).trim();
const range = data.names.map((_, i) => colour(`--run-${i % 8}`));
const config = { background: 'transparent', font: 'system-ui', view: { stroke: null },
  axis: { labelColor: colour('--muted'), titleColor: colour('--muted'), gridColor: colour('--line'),
    domainColor: colour('--strong-line'), tickColor: colour('--strong-line'), labelLimit: 200 },
  legend: { labelColor: colour('--muted'), titleColor: colour('--muted'), labelLimit: 300 } };
async function draw(specifications) {
  for (const [id, specification] of Object.entries(specifications)) {
    await vegaEmbed(document.getElementById(id), specification,
      { actions: false, ast: true, renderer: 'svg', defaultStyle: false, config });
  }
  document.documentElement.dataset.charts = 'drawn';
}
"""


def embedded(value):
    """JSON that nothing in it can end the element of."""
    text = json.dumps(value)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def chart(identifier):
    return f"<div class=\"panel\"><div class=\"chart\" id=\"{identifier}\"></div></div>"


def write(path, build, *, title, heading, summary, main, data, script):
    """`summary` and `main` are HTML. Returns the path, or why there is no page."""
    libraries = build / "src" / "report" / "web" / "libraries.js"
    if not libraries.exists():
        return f"none: {libraries} is not there; build weft in that directory"
    path.write_text("\n".join([
        (WEB / "head.html").read_text(), f"<title>{html.escape(title)} · weft</title>\n<style>",
        (WEB / "style.css").read_text(), "</style>\n</head>", (WEB / "brand.html").read_text(),
        f"<h1>{html.escape(heading)}</h1>", f"<p class=\"summary\">{summary}</p>\n</header>",
        f"<main>{main}</main>",
        f"<script type=\"application/json\" id=\"data\">{embedded(data)}</script>",
        f"<script>\n{libraries.read_text()}</script>\n<script>{SCRIPT}{script}</script>",
        "</body>\n</html>\n"]))
    return path
