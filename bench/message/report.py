# SPDX-License-Identifier: Apache-2.0
"""Draws what run.py measured: latency and bandwidth over size."""
import html

import page

# Medians as lines, from the lowest to the highest as bands.
SCRIPT = """
const hue = { field: 'name', type: 'nominal', title: null,
  scale: { domain: data.names, range },
  legend: { orient: 'top', columns: 3, symbolOpacity: 1, symbolType: 'circle' } };
const size = "datum.value < 1024 ? datum.value + ' B' : datum.value < 1048576 ? datum.value / 1024"
  + " + ' KiB' : datum.value < 1073741824 ? datum.value / 1048576 + ' MiB' : '1 GiB'";
const x = { field: 'bytes', type: 'quantitative', scale: { type: 'log', base: 2, nice: false },
  title: 'a message', axis: { labelExpr: size, values: [...Array(16).keys()].map((i) => 4 ** i) } };
function specification(field, title) {
  const y = { field: `${field}.median`, type: 'quantitative', scale: { type: 'log' }, title,
    axis: { tickCount: 8 } };
  return { data: { values: data.rows }, width: 'container', height: 380, layer: [
    { mark: { type: 'area', opacity: 0.2 }, encoding: { x, color: hue,
      y: { ...y, field: `${field}.min` }, y2: { field: `${field}.max` } } },
    { mark: { type: 'line', point: { size: 28, filled: true } }, encoding: { x, color: hue, y,
      tooltip: [{ field: 'name' }, { field: 'bytes' },
        { field: `${field}.median`, title: `median, ${title}`, format: '.4g' },
        { field: `${field}.min`, title: 'lowest', format: '.4g' },
        { field: `${field}.max`, title: 'highest', format: '.4g' }] } }] };
}
draw({ latency: specification('latency_us', 'µs one way'),
  bandwidth: specification('bandwidth_gbs', 'GB/s') });
"""


def table(results):
    head = "".join(f"<th>{html.escape(page.NAMES[name])}</th>" for name in results)
    lines = [f"<table><thead><tr><th>bytes</th>{head}</tr></thead><tbody>"]
    for rows in zip(*results.values()):
        cells = "".join(f"<td>{row['latency_us']['median']:.4g} µs <small>"
                        f"{row['bandwidth_gbs']['median']:.3g} GB/s</small></td>" for row in rows)
        lines.append(f"<tr><th>{rows[0]['bytes']}</th>{cells}</tr>")
    return "\n".join([*lines, "</tbody></table>"])


def write(path, result, build):
    """Returns the path, or why there is no page."""
    results = {name: result["results"][name] for name in page.NAMES if name in result["results"]}
    promises = "".join(f"<li>{html.escape(promise['promise'])}: "
                       f"{'holds' if promise['holds'] else '<strong>does not hold</strong>'}</li>"
                       for promise in result["promises"])
    return page.write(
        path, build, title="Messages", heading="A message’s way on weft’s fabrics and on MPI",
        summary=f"Two processes on a machine of {result['processors']} processors; medians of "
                f"{result['repeat']} runs in turn, and from the lowest to the highest of them.",
        main="\n".join([f"<section><h2>What is promised</h2><ul>{promises}</ul></section>",
                        f"<section><h2>One way</h2>{page.chart('latency')}</section>",
                        f"<section><h2>Bandwidth</h2>{page.chart('bandwidth')}</section>",
                        "<section><h2>All medians as numbers</h2><div class=\"scroll\">",
                        table(results), "</div></section>"]),
        data={"names": [page.NAMES[name] for name in results],
              "rows": [{"name": page.NAMES[name], **row} for name, rows in results.items()
                       for row in rows]}, script=SCRIPT)
