// SPDX-License-Identifier: Apache-2.0
// The contents of the figures, as Vega-Lite specifications. Nothing here touches the page: each
// builder gets the runs and the theme and returns
//   { layout, key, charts: [{ title?, sign?, name, spec }], table: { head, rows } }
// docs/report.md says what each figure means.
'use strict';

const shapes = ['circle', 'square', 'triangle-up', 'diamond', 'triangle-down', 'cross',
  'triangle-right', 'triangle-left'];
const dashes = [[], [9, 3], [4, 2], [10, 3, 2, 3], [2, 2], [16, 4], [6, 2, 2, 2], [1, 2]];

/** The marks of run number `index` in every chart: they differ for the first 64 runs. */
const lookOf = (index) => ({ colour: index % 8, shape: (index + Math.floor(index / 8)) % 8 });

const timeUnits = [[1e6, 's'], [1e3, 'ms'], [1, 'µs']];
const rateUnits = [[1e12, 'TB/s'], [1e9, 'GB/s'], [1e6, 'MB/s'], [1e3, 'kB/s'], [1, 'B/s']];

/** The largest unit in which `value` is at least 1. */
function unitFor(value, units) {
  const [factor, name] = units.find(([size]) => value >= size) ?? units[units.length - 1];
  return { factor, name };
}

/** At most four digits, as the tables of the page have them. */
function short(value) {
  if (!Number.isFinite(value)) return '–';
  return Number(value.toPrecision(4)).toLocaleString('en-GB',
    { maximumSignificantDigits: 6 });
}
function inUnit(value, units) {
  if (!Number.isFinite(value)) return '–';
  const unit = unitFor(Math.abs(value), units);
  return `${short(value / unit.factor)} ${unit.name}`;
}
const time = (us) => inUnit(us, timeUnits);
const rate = (bytes) => inUnit(bytes, rateUnits);
const percent = (fraction) =>
  (Number.isFinite(fraction) ? `${(fraction * 100).toFixed(1)} %` : '–');
function size(bytes) {
  const names = ['B', 'KiB', 'MiB', 'GiB'];
  let place = 0;
  for (; bytes >= 1024 && place + 1 < names.length; ++place) bytes /= 1024;
  return `${short(bytes)} ${names[place]}`;
}

/** Every n-th row, so that at most `most` are drawn. */
function thin(rows, most) {
  const stride = Math.max(1, Math.ceil(rows.length / most));
  return rows.filter((_, i) => i % stride === 0);
}
/** Linear interpolation between the nearest values, as the writer of the records does it. */
function quantile(sorted, fraction) {
  const place = fraction * (sorted.length - 1);
  const below = Math.floor(place);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - below);
}
function quantiles(values) {
  const s = [...values].sort((a, b) => a - b);
  return { min: s[0], p10: quantile(s, 0.1), median: quantile(s, 0.5), p90: quantile(s, 0.9),
    max: s[s.length - 1] };
}
const distinct = (values) => [...new Set(values)];

function base(height) {
  return { $schema: 'https://vega.github.io/schema/vega-lite/v6.json', width: 'container', height,
    autosize: { type: 'fit-x', contains: 'padding' }, background: 'transparent' };
}
const own = (context, run) => context.theme.run[lookOf(run.index).colour];
function perRun(runs, range) {
  return { field: 'run', type: 'nominal', legend: null,
    scale: { domain: runs.map((r) => r.label), range: runs.map(range) } };
}
const colour = (context, runs) => perRun(runs, (r) => own(context, r));
const shape = (runs) => perRun(runs, (r) => shapes[lookOf(r.index).shape]);
const dashOf = (run) => dashes[lookOf(run.index).shape];
const signKey = (runs) => runs.map((r) => ({ sign: r.index, text: r.label }));
const streams = (context) => context.runs.filter((r) => r.limit.length === 0);

/**
 * How a vertical axis shows `values`: logarithmic where they differ tenfold and all are above 0,
 * else linear from 0.
 */
function tallAxis(title, values) {
  const low = Math.min(...values) / 1.5;
  const high = Math.max(...values) * 1.25;
  const type = 'quantitative';
  if (!(low > 0 && high / low >= 10 * 1.5 * 1.25)) {
    return { type, title, scale: { domain: [0, high > 0 ? high / 1.15 : 1], nice: false } };
  }
  const steps = Math.log10(high / low) > 3 ? [1] : [1, 2, 5];
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); ++power) {
    ticks.push(...steps.map((step) => step * 10 ** power).filter((v) => v >= low && v <= high));
  }
  return { type, title: `${title}, logarithmic`, axis: { values: ticks, tickCount: ticks.length,
    format: ',~g', labelOverlap: false },
    scale: { type: 'log', domain: [low, high], nice: false } };
}

const floorsOf = (runs) => distinct(runs.map((r) => r.spread_floor_us).filter((f) => f > 0));

/** A dashed line for each distinct floor. What lines mean is in the key: words would cover data. */
function floorLayers(context, runs, unit, y) {
  const values = floorsOf(runs).map((f) => ({ floor: f / unit.factor }));
  if (values.length === 0) return [];
  return [{ data: { values }, mark: { type: 'rule', strokeDash: [5, 4], strokeWidth: 1.25,
    color: context.theme.text }, encoding: { y: { ...y, field: 'floor' } } }];
}
function lineKey(values, what) {
  const said = values.slice(0, 4).map((value) => ({ line: null, dash: [5, 4],
    text: `${what} ${value}` }));
  return values.length > said.length ? [...said, { line: null, dash: [5, 4],
    text: `and ${values.length - said.length} more` }] : said;
}

const faultColour = '#c0392b';
const faultsOf = (runs) => runs.flatMap((r) => thin(r.faults ?? [], 200).map((f) => ({
  run: r.label, t: f.t_us / 1e6, what: f.what.replace(/^end of /, ''),
  end: f.what.startsWith('end of ') })));

/** Upright lines where something was made to go wrong, and dotted ones where it ended. */
function faultLayers(runs) {
  const marks = faultsOf(runs);
  const x = { field: 't', type: 'quantitative' };
  const tooltip = [{ field: 'run' }, { field: 'what', title: 'fault' },
    { field: 't', title: 'time (s)', format: '.4~f' }];
  const rule = (values, dash) => ({ data: { values }, mark: { type: 'rule', strokeWidth: 1.5,
    strokeDash: dash, color: faultColour }, encoding: { x, tooltip } });
  return [[marks.filter((m) => !m.end), []], [marks.filter((m) => m.end), [2, 3]]]
    .filter(([values]) => values.length > 0).map(([values, dash]) => rule(values, dash));
}
function faultKey(runs) {
  const begins = faultsOf(runs).filter((m) => !m.end);
  const said = begins.slice(0, 6).map((m) => ({ line: null, dash: [], colour: faultColour,
    text: `${m.what} at ${short(m.t)} s${runs.length > 1 ? `, ${m.run}` : ''}` }));
  return begins.length > said.length ? [...said, { line: null, dash: [], colour: faultColour,
    text: `and ${begins.length - said.length} more faults` }] : said;
}

function spreadOverTime(context, runs, unit, y) {
  const most = Math.max(250, Math.floor(4000 / runs.length));
  const values = runs.flatMap((r) => thin(r.series.timeslices, most).map((s) => ({ run: r.label,
    t: s.t_us / 1e6, spread: s.spread_us / unit.factor, index: s.index, compute: s.compute })));
  return { ...base(300), layer: [
    { data: { values }, mark: { type: 'point', filled: true, size: 16, opacity: 0.55 },
      encoding: {
        x: { field: 't', type: 'quantitative', title: 'seconds since the start',
          scale: { nice: false, domainMin: 0 } },
        y: { ...y, field: 'spread' }, color: colour(context, runs), shape: shape(runs),
        tooltip: [{ field: 'run' }, { field: 'index', title: 'timeslice' },
          { field: 'compute', title: 'compute node' },
          { field: 'spread', title: `spread (${unit.name})`, format: '.4~g' }] } },
    ...faultLayers(runs), ...floorLayers(context, runs, unit, y)] };
}

/** A thin line from min to max, a bar from p10 to p90, a mark at the median. */
function boxLayers(context, x, y, fill, tooltip) {
  const { surface, text } = context.theme;
  return [
    { mark: { type: 'rule', strokeWidth: 1.5 },
      encoding: { x, y: { ...y, field: 'min' }, y2: { field: 'max' }, color: fill, tooltip } },
    { mark: { type: 'bar', size: 16, cornerRadius: 2, stroke: surface, strokeWidth: 1,
      minBandSize: 2 }, encoding: { x, y: { ...y, field: 'p10' }, y2: { field: 'p90' },
      color: fill, tooltip } },
    { mark: { type: 'tick', size: 24, thickness: 2.5, color: text, opacity: 1 },
      encoding: { x, y: { ...y, field: 'median' }, tooltip } }];
}
function boxTooltip(first, unit) {
  return [first, ...['min', 'p10', 'median', 'p90', 'max'].map((field) => ({ field,
    title: `${field}${unit}`, format: '.4~g' }))];
}
const scaled = (q, by) => Object.fromEntries(Object.entries(q).map(([name, v]) => [name, v * by]));

/** The horizontal axis of charts with one box for each run. */
const runAxis = (runs) => ({ field: 'run', type: 'nominal', sort: null, title: null,
  axis: { labelOverlap: false, labelAngle: runs.length > 3 ? -40 : 0,
    labelLimit: runs.length > 3 ? 130 : 90, domain: false, ticks: false } });

function spreadSummary(context, runs, unit, y) {
  const values = runs.map((r) => ({ run: r.label, ...scaled(r.spread_us, 1 / unit.factor) }));
  const x = runAxis(runs);
  return { ...base(300), data: { values }, layer: [
    ...boxLayers(context, x, y, colour(context, runs), boxTooltip({ field: 'run' },
      ` (${unit.name})`)),
    ...floorLayers(context, runs, unit, y)] };
}

function spreadFigure(context) {
  const runs = streams(context).filter((r) => r.spread_us || r.series.timeslices.length > 0)
    .map((r) => ({ ...r,
      spread_us: r.spread_us ?? quantiles(r.series.timeslices.map((s) => s.spread_us)) }));
  const all = runs.flatMap((r) => [...Object.values(r.spread_us), r.spread_floor_us ?? NaN])
    .filter(Number.isFinite);
  const unit = unitFor(Math.max(...runs.map((r) => r.spread_us.median)), timeUnits);
  const y = tallAxis(`spread in ${unit.name}`, all.map((v) => v / unit.factor));
  const drawn = runs.filter((r) => r.series.timeslices.length > 0);
  const charts = [{ name: 'Spread in summary', spec: spreadSummary(context, runs, unit, y) }];
  if (drawn.length > 0) {
    charts.unshift({ name: 'Spread over time', spec: spreadOverTime(context, drawn, unit, y) });
  }
  const layout = charts.length > 1 && runs.length <= 4 ? 'split' : '';
  return { layout, key: [...signKey(runs), ...lineKey(floorsOf(runs).map(time), 'floor'),
    ...faultKey(drawn)], charts, table: {
    head: ['Run', 'Min', 'p10', 'Median', 'p90', 'Max', 'Floor', 'Median × floor'],
    rows: runs.map((r) => [r.label, ...Object.values(r.spread_us).map(time),
      time(r.spread_floor_us ?? NaN), short(r.spread_us.median / (r.spread_floor_us ?? NaN))]) } };
}

function goodputText(run) {
  if (!(run.limit_bytes_per_s > 0)) return rate(run.goodput_bytes_per_s);
  const share = run.goodput_bytes_per_s / run.limit_bytes_per_s;
  return `${rate(run.goodput_bytes_per_s)}, ${percent(share)} of ${rate(run.limit_bytes_per_s)}`;
}

function goodputFigure(context) {
  const runs = streams(context);
  const top = Math.max(...runs.flatMap((r) => [r.goodput_bytes_per_s, r.limit_bytes_per_s ?? 0]));
  const unit = unitFor(top, rateUnits);
  const values = runs.map((r) => ({ run: r.label, goodput: r.goodput_bytes_per_s / unit.factor,
    limit: r.limit_bytes_per_s > 0 ? r.limit_bytes_per_s / unit.factor : null,
    text: goodputText(r) }));
  const x = { type: 'quantitative', title: `goodput in ${unit.name}`,
    scale: { zero: true, domain: [0, (top / unit.factor) * 1.03 || 1], nice: false } };
  const y = { field: 'run', type: 'nominal', sort: null, axis: null };
  const limited = values.filter((v) => v.limit !== null);
  const words = { type: 'text', align: 'left', baseline: 'middle', x: 0, fontSize: 13,
    color: context.theme.text, limit: { expr: 'width' } };
  const spec = { ...base(72 * runs.length), data: { values }, layer: [
    { mark: { type: 'bar', size: 16, yOffset: 14, cornerRadiusEnd: 2 }, encoding: { y,
      x: { ...x, field: 'goodput' }, color: colour(context, runs),
      tooltip: [{ field: 'run' }, { field: 'goodput', title: `goodput (${unit.name})`,
        format: '.4~g' }, { field: 'limit', title: `limit (${unit.name})`, format: '.4~g' }] } },
    { mark: { ...words, dy: -26, fontWeight: 600 }, encoding: { y, text: { field: 'run' } } },
    { mark: { ...words, dy: -8 }, encoding: { y, text: { field: 'text' } } },
    { data: { values: limited }, mark: { type: 'tick', size: 26, thickness: 2.5, yOffset: 14,
      color: context.theme.text, opacity: 1 },
      encoding: { y, x: { ...x, field: 'limit' } } }] };
  return { layout: '', charts: [{ name: 'Goodput', spec }], table: {
    head: ['Run', 'Goodput', 'Limit', 'Of limit'],
    rows: runs.map((r) => [r.label, rate(r.goodput_bytes_per_s), rate(r.limit_bytes_per_s ?? NaN),
      percent(r.goodput_bytes_per_s / (r.limit_bytes_per_s ?? NaN))]) } };
}

function progressFigure(context) {
  const runs = streams(context).filter((r) => r.series.goodput.length > 0);
  const limits = distinct(runs.map((r) => r.limit_bytes_per_s).filter((l) => l > 0));
  const rates = runs.flatMap((r) => r.series.goodput.map((s) => s.bytes_per_s));
  const unit = unitFor(Math.max(...rates, ...limits), rateUnits);
  const values = runs.flatMap((r) => thin(r.series.goodput, 600).map((s) => ({ run: r.label,
    t: s.t_us / 1e6, goodput: s.bytes_per_s / unit.factor })));
  const rules = limits.map((l) => ({ limit: l / unit.factor }));
  const y = { type: 'quantitative', title: `goodput in ${unit.name}`, scale: { zero: true } };
  const spec = { ...base(240), layer: [
    { data: { values }, mark: { type: 'line', strokeWidth: 2, strokeJoin: 'round',
      point: rates.length < 80 ? { size: 24 } : false },
      encoding: { x: { field: 't', type: 'quantitative', title: 'seconds since the start',
        scale: { nice: false, domainMin: 0 } }, y: { ...y, field: 'goodput' },
        color: colour(context, runs), strokeDash: perRun(runs, dashOf),
        tooltip: [{ field: 'run' }, { field: 't', title: 'time (s)', format: '.3~f' },
          { field: 'goodput', title: `goodput (${unit.name})`, format: '.4~g' }] } },
    ...faultLayers(runs),
    ...(rules.length === 0 ? [] : [{ data: { values: rules }, mark: { type: 'rule',
      strokeDash: [5, 4], strokeWidth: 1.25, color: context.theme.text },
    encoding: { y: { ...y, field: 'limit' } } }])] };
  const spans = runs.map((r) => quantiles(r.series.goodput.map((s) => s.bytes_per_s)));
  return { layout: '', charts: [{ name: 'Goodput over time', spec }],
    key: [...runs.map((r) => ({ line: r.index, dash: dashOf(r), text: r.label })),
      ...lineKey(limits.map(rate), 'limit'), ...faultKey(runs)],
    table: { head: ['Run', 'Min', 'p10', 'Median', 'p90', 'Max'],
      rows: runs.map((r, i) => [r.label, ...Object.values(spans[i]).map(rate)]) } };
}

function intervalChart(context, run) {
  const unit = unitFor(quantiles(run.intervals.map((i) => i.actual_us)).median, timeUnits);
  const values = run.intervals.flatMap((i) => [
    { id: i.id, kind: 'actual', duration: i.actual_us / unit.factor },
    ...(i.proposed_us === null ? [] : [{ id: i.id, kind: 'proposed',
      duration: i.proposed_us / unit.factor }])]);
  const kinds = ['actual', 'proposed'];
  const scale = (range) => ({ field: 'kind', type: 'nominal', legend: null,
    scale: { domain: kinds, range } });
  return { ...base(220), data: { values }, mark: { type: 'line', strokeWidth: 2,
    point: run.intervals.length <= 80 ? { size: 26, filled: true } : false },
    encoding: {
      x: { field: 'id', type: 'quantitative', title: 'interval', scale: { zero: false,
        nice: false }, axis: { tickMinStep: 1, format: 'd' } },
      y: { field: 'duration', type: 'quantitative', title: `duration in ${unit.name}`,
        scale: { zero: true } },
      color: scale([own(context, run), context.theme.text]), strokeDash: scale([[], [5, 4]]),
      tooltip: [{ field: 'id', title: 'interval' }, { field: 'kind', title: 'kind' },
        { field: 'duration', title: `duration (${unit.name})`, format: '.4~g' }] } };
}

function intervalsFigure(context) {
  const runs = streams(context).filter((r) => r.intervals.length > 0);
  const several = runs.length > 1;
  return { layout: several ? 'panels' : '',
    key: [{ line: several ? null : runs[0].index, dash: [], text: 'actual' },
      { line: null, dash: [5, 4], text: 'proposed' }],
    charts: runs.map((r) => ({ title: r.label, sign: r.index,
      name: `Proposed and actual intervals of ${r.label}`, spec: intervalChart(context, r) })),
    table: { head: ['Run', 'Interval', 'Start', 'Proposed', 'Actual', 'Actual / proposed'],
      rows: runs.flatMap((r) => thin(r.intervals, 500).map((i) => [r.label, String(i.id),
        time(i.start_us), time(i.proposed_us ?? NaN), time(i.actual_us),
        percent(i.actual_us / (i.proposed_us ?? NaN))])) } };
}

/** For each place in the order fullest first, the quantiles over all samples. */
function fillByPlace(run) {
  const samples = run.series.buffer_fill;
  const connections = samples.some((s) => s.input !== null);
  const groups = new Map();
  for (const s of samples) {
    const key = connections ? `${s.t_us}/${s.compute}` : `${s.t_us}`;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(s.fill * 100);
  }
  const places = [];
  for (const fills of groups.values()) {
    fills.sort((a, b) => b - a).forEach((fill, place) => (places[place] ??= []).push(fill));
  }
  if (places.length === 0) {
    return { of: '', places: [{ place: 1, ...scaled(run.buffer_fill, 100) }] };
  }
  return { of: connections ? 'connection' : 'compute node',
    places: places.map((fills, i) => ({ place: i + 1, ...quantiles(fills) })) };
}

const fillAxis = { type: 'quantitative', title: 'buffer fill in %',
  scale: { domain: [0, 100], nice: false } };
function fillChart(context, run, { of, places }) {
  const fill = { value: own(context, run) };
  const y = fillAxis;
  const title = of ? `${of}, fullest first` : null;
  const tooltip = boxTooltip({ field: 'place' }, ' (%)');
  if (places.length <= 16) {
    const x = { field: 'place', type: 'ordinal', title, axis: { labelAngle: 0, labels: of !== '',
      domain: false, ticks: false } };
    return { ...base(220), data: { values: places },
      layer: boxLayers(context, x, y, fill, tooltip) };
  }
  const x = { field: 'place', type: 'quantitative', title, scale: { zero: false, nice: false },
    axis: { tickMinStep: 1, format: 'd' } };
  const band = (low, high, opacity) => ({ mark: { type: 'area', opacity, color: fill.value },
    encoding: { x, y: { ...y, field: low }, y2: { field: high } } });
  return { ...base(220), data: { values: places }, layer: [band('min', 'max', 0.18),
    band('p10', 'p90', 0.4),
    { mark: { type: 'line', color: context.theme.text, strokeWidth: 2 },
      encoding: { x, y: { ...y, field: 'median' } } },
    { mark: { type: 'point', opacity: 0, size: 80 }, encoding: { x, y: { ...y, field: 'median' },
      tooltip } }] };
}

/** Of a sample of the buffers nobody knows which place a buffer had: one box for each run. */
function sampledFillFigure(context, runs) {
  const values = runs.map((r) => ({ run: r.label, ...scaled(r.buffer_fill
    ?? quantiles(r.series.buffer_fill.map((s) => s.fill)), 100) }));
  const spec = { ...base(300), data: { values }, layer: boxLayers(context, runAxis(runs), fillAxis,
    colour(context, runs), boxTooltip({ field: 'run' }, ' (%)')) };
  return { layout: '', key: signKey(runs), charts: [{ name: 'Fill of a sample of rings', spec }],
    table: { head: ['Run', 'Min', 'p10', 'Median', 'p90', 'Max'],
      rows: values.map((v) => [v.run,
        ...['min', 'p10', 'median', 'p90', 'max'].map((name) => percent(v[name] / 100))]) } };
}

function fillFigure(context) {
  const runs = streams(context).filter((r) => r.buffer_fill || r.series.buffer_fill.length > 0);
  if (context.fillIsSample) return sampledFillFigure(context, runs);
  const filled = runs.map(fillByPlace);
  return { layout: 'panels', charts: runs.map((r, i) => ({ title: r.label, sign: r.index,
    name: `Buffer fill of ${r.label}`, spec: fillChart(context, r, filled[i]) })),
    table: { head: ['Run', 'Place', 'Min', 'p10', 'Median', 'p90', 'Max'],
      rows: runs.flatMap((r, i) => filled[i].places.map((p) => [r.label,
        filled[i].of ? String(p.place) : 'all',
        ...['min', 'p10', 'median', 'p90', 'max'].map((name) => percent(p[name] / 100))])) } };
}
