// SPDX-License-Identifier: Apache-2.0
// The figures of `weft stream limit` (Figs. 3 to 5), as web/charts.js makes those of streams.
'use strict';

const limitRuns = (context) => context.runs.filter((r) => r.limit.length > 0);

function limitRows(runs) {
  const rows = runs.flatMap((r) => r.limit.map((row) => ({ ...row, run: r.label,
    size: size(row.message_bytes), kind: row.mix ? 'mix' : 'large only' })));
  return rows.sort((a, b) => a.message_bytes - b.message_bytes);
}
const sizesOf = (rows) => distinct(rows.map((r) => r.size));
const kinds = ['large only', 'mix'];

function limitKey(runs, rows) {
  const mixed = rows.some((r) => r.mix);
  const signs = runs.length > 1 ? signKey(runs) : [];
  const line = runs.length > 1 ? null : runs[0].index;
  if (!mixed) return signs;
  return [...signs, { line, dash: [], text: 'large messages only' },
    { line, dash: [5, 4], text: 'with small messages (mix)' }];
}
const limitTable = (rows) => ({
  head: ['Run', 'Message', 'Small messages', 'Round', 'Per sender', 'Aggregate'],
  rows: rows.map((r) => [r.run, r.size, r.mix ? 'mix' : 'none', time(r.round_us),
    rate(r.bandwidth_per_sender_bytes_per_s), rate(r.aggregate_bytes_per_s)]) });

/** Lines over the message size, one per run and kind; `name` is what `value` gives. */
function limitLines(context, runs, rows, y, name, value) {
  const values = rows.map((r) => ({ run: r.run, size: r.size, kind: r.kind, value: value(r) }));
  return { ...base(260), data: { values }, mark: { type: 'line', strokeWidth: 2,
    point: { size: 34, filled: true } }, encoding: {
    x: { field: 'size', type: 'ordinal', sort: sizesOf(rows), title: 'message size',
      axis: { labelAngle: -40, labelOverlap: true } },
    y: { type: 'quantitative', ...y, field: 'value' }, color: colour(context, runs),
    strokeDash: { field: 'kind', type: 'nominal', legend: null,
      scale: { domain: kinds, range: [[], [5, 4]] } },
    tooltip: [{ field: 'run' }, { field: 'size', title: 'message' }, { field: 'kind',
      title: 'messages' }, { field: 'value', title: name, format: '.4~g' }] } };
}

function roundFigure(context) {
  const runs = limitRuns(context);
  const rows = limitRows(runs);
  const unit = unitFor(Math.max(...rows.map((r) => r.round_us)), timeUnits);
  const values = rows.map((r) => r.round_us / unit.factor);
  const y = tallAxis(`duration of a round in ${unit.name}`, values);
  return { layout: '', key: limitKey(runs, rows), table: limitTable(rows),
    charts: [{ name: 'Duration of a round', spec: limitLines(context, runs, rows, y,
      `round (${unit.name})`, (r) => r.round_us / unit.factor) }] };
}

function senderFigure(context) {
  const runs = limitRuns(context);
  const rows = limitRows(runs);
  const unit = unitFor(Math.max(...rows.map((r) => r.bandwidth_per_sender_bytes_per_s)),
    rateUnits);
  const y = { title: `bandwidth per sender in ${unit.name}`, scale: { zero: true } };
  return { layout: '', key: limitKey(runs, rows), table: limitTable(rows),
    charts: [{ name: 'Bandwidth per sender', spec: limitLines(context, runs, rows, y,
      `per sender (${unit.name})`, (r) => r.bandwidth_per_sender_bytes_per_s / unit.factor) }] };
}

function aggregateFigure(context) {
  const runs = limitRuns(context);
  const rows = limitRows(runs);
  const unit = unitFor(Math.max(...rows.map((r) => r.aggregate_bytes_per_s)), rateUnits);
  const values = rows.map((r) => ({ run: r.run, size: r.size, kind: r.kind,
    bar: `${r.run}, ${r.kind}`, value: r.aggregate_bytes_per_s / unit.factor }));
  const x = { field: 'size', type: 'ordinal', sort: sizesOf(rows), title: 'message size',
    axis: { labelAngle: -40, labelOverlap: true, domain: false } };
  const xOffset = { field: 'bar', type: 'nominal',
    sort: runs.flatMap((r) => kinds.map((k) => `${r.label}, ${k}`)) };
  const y = { field: 'value', type: 'quantitative', scale: { zero: true },
    title: `aggregate bandwidth in ${unit.name}` };
  const bar = { type: 'bar', cornerRadiusEnd: 2, strokeWidth: 1.5 };
  const spec = { ...base(260), data: { values }, layer: [
    // The grid must not shine through the light bars of the mix.
    { mark: { ...bar, color: context.theme.surface }, encoding: { x, xOffset, y } },
    { mark: bar, encoding: { x, xOffset, y, color: colour(context, runs),
      stroke: colour(context, runs), fillOpacity: { field: 'kind', type: 'ordinal', legend: null,
        scale: { domain: kinds, range: [1, 0.3] } },
      tooltip: [{ field: 'run' }, { field: 'size', title: 'message' }, { field: 'kind',
        title: 'messages' }, { field: 'value', title: `aggregate (${unit.name})`,
        format: '.4~g' }] } }] };
  const mixed = rows.some((r) => r.mix);
  const line = runs.length > 1 ? null : runs[0].index;
  const key = [...(runs.length > 1 ? signKey(runs) : []), ...(mixed ? [
    { box: line, opacity: 1, text: 'large messages only' },
    { box: line, opacity: 0.3, text: 'with small messages (mix)' }] : [])];
  return { layout: '', key, table: limitTable(rows),
    charts: [{ name: 'Aggregate bandwidth', spec }] };
}
