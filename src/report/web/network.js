// SPDX-License-Identifier: Apache-2.0
// The figures of a simulated network, as web/charts.js makes those of streams. `network` is the
// drawn topology, `of` the load of each run on it.
'use strict';

const bytesText = (bytes) => (bytes >= 1024 ? size(bytes) : `${short(bytes)} B`);
const sizeUnits = [[2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB'], [1, 'B']];
const isDark = (context) => /^#[0-4]/.test(context.theme.surface);

/** Colours from nothing to all, each further from the page's than the one before. */
const ramp = (context) => (isDark(context) ? ['#39424c', '#4f7a94', '#e08a3c', '#ffe9a8']
  : ['#d3d9dd', '#86b3cf', '#d9731a', '#7d0a12']);
function shade(context, top, title, format) {
  const step = top / (format ? 4 : 3);
  return { type: 'quantitative', scale: { domain: [0, top / 3, (2 * top) / 3, top],
    range: ramp(context), interpolate: 'lab', clamp: true },
    legend: { orient: 'top', direction: 'horizontal', title, gradientLength: 190,
      gradientThickness: 10, format: format ?? '.3~g',
      titleLimit: 260, values: [0, 1, 2, 3, 4].map((i) => i * step).filter((v) => v < top * 1.01), offset: 12,
      labelColor: context.theme.muted, titleColor: context.theme.muted, labelFontSize: 12,
      titleFontSize: 12, titleFontWeight: 'normal' } };
}

/** The inner width of a panel when `count` of them stand in the page. */
function panelWidth(count) {
  const all = document.querySelector('main').clientWidth;
  const columns = Math.max(1, Math.min(count, Math.floor((all + 16) / 320)));
  return (all - 16 * (columns - 1)) / columns - 34;
}
const runTitle = (context, run, i) => ({ title: run.name || `run ${i + 1}`, sign: i });
const layoutOf = (context) => (context.of.length > 1 ? 'panels' : '');

// ---- where vertices are: places in a plane, x to the right and y up, of any extent

function placeAround(places, members, centre, radius, turn) {
  members.forEach((v, i) => {
    const angle = turn + (2 * Math.PI * i) / members.length;
    places[v] = { x: centre.x + radius * Math.sin(angle), y: centre.y + radius * Math.cos(angle) };
  });
}
function hostsOf(network) {
  const of = new Map();
  network.cables.forEach(({ a, b }) => {
    const [host, other] = network.vertices[a].host ? [a, b] : [b, a];
    if (!network.vertices[host].host) return;
    if (!of.has(other)) of.set(other, []);
    of.get(other).push(host);
  });
  return of;
}
const numbers = (network, keep) => network.vertices.map((v, i) => i)
  .filter((i) => keep(network.vertices[i]));

function starPlaces(network) {
  const places = [];
  const hosts = numbers(network, (v) => v.host);
  placeAround(places, numbers(network, (v) => !v.host), { x: 0, y: 0 }, 0, 0);
  placeAround(places, hosts, { x: 0, y: 0 }, 1, 0);
  return { places, round: true };
}

/** Rows by level, hosts at the bottom; what belongs to a group stands over it. */
function levelPlaces(network) {
  const { vertices } = network;
  const places = [];
  const levels = distinct(vertices.map((v) => v.level)).sort((a, b) => a - b);
  const hosts = hostsOf(network);
  const even = (members, from, to, y) => members.forEach((v, i) => {
    places[v] = { x: from + ((to - from) * (i + 0.5)) / members.length, y };
  });
  levels.forEach((level, row) => {
    const members = numbers(network, (v) => v.level === level);
    const y = row * (levels.length > 1 ? 1 / (levels.length - 1) : 1);
    const groups = distinct(members.map((v) => vertices[v].group));
    if (row === 0 || groups.includes(undefined) || level < 2) {
      even(members, 0, 1, y);
      if (level !== 1) return;
      members.filter((v) => hosts.has(v)).forEach((v) => {
        const below = hosts.get(v).map((h) => places[h]?.x).filter(Number.isFinite);
        if (below.length > 0) places[v].x = below.reduce((sum, x) => sum + x, 0) / below.length;
      });
      return;
    }
    groups.forEach((group) => {
      const below = numbers(network, (v) => v.level === level - 1 && v.group === group)
        .map((v) => places[v].x);
      const gap = 0.5 / Math.max(1, numbers(network, (v) => v.level === level - 1).length);
      const [from, to] = below.length > 0
        ? [Math.min(...below) - gap, Math.max(...below) + gap] : [0, 1];
      even(members.filter((v) => vertices[v].group === group), from, to, y);
    });
  });
  return { places, rows: levels.length };
}

/** Groups in a ring, each a ring of its switches with their hosts outside. */
function groupPlaces(network) {
  const places = [];
  const switches = numbers(network, (v) => !v.host);
  const groups = distinct(switches.map((v) => network.vertices[v].group));
  const centres = [];
  placeAround(centres, groups.map((_, i) => i), { x: 0, y: 0 }, groups.length > 1 ? 1 : 0, 0);
  const radius = groups.length > 1 ? Math.min(0.5, 0.72 * Math.sin(Math.PI / groups.length)) : 1;
  const hosts = hostsOf(network);
  const inner = network.with_hosts ? 0.68 : 0.9;
  groups.forEach((group, g) => {
    const turn = (2 * Math.PI * g) / groups.length;
    const members = switches.filter((v) => network.vertices[v].group === group);
    placeAround(places, members, centres[g], radius * inner, turn);
    placeAround(places, members.flatMap((v) => hosts.get(v) ?? []), centres[g], radius, turn
      - (Math.PI / members.length) * (1 - members.length
        / Math.max(1, members.flatMap((v) => hosts.get(v) ?? []).length)));
  });
  return { places, round: true };
}

/** Up to three dimensions: a third one goes to the back. */
function torusPlaces(network) {
  const places = [];
  const switches = numbers(network, (v) => !v.host);
  const depth = 1 + Math.max(...switches.map((v) => network.vertices[v].position[2] ?? 0));
  switches.forEach((v) => {
    const [x, y = 0, z = 0] = network.vertices[v].position;
    places[v] = { x: x + (z * 0.8) / depth, y: y + (z * 0.55) / depth };
  });
  hostsOf(network).forEach((hosts, v) => hosts.forEach((h, i) => {
    const angle = Math.PI * ((depth > 1 ? 1.7 : 1.25) + (hosts.length > 1 ? (i / (hosts.length - 1) - 0.5) * 0.5 : 0));
    const far = depth > 1 ? 0.16 : 0.28;
    places[h] = { x: places[v].x + far * Math.cos(angle), y: places[v].y + far * Math.sin(angle) };
  }));
  return { places, round: true };
}

function placesOf(network) {
  const { shape, vertices } = network;
  const grid = vertices.every((v) => v.host || (v.position?.length > 0 && v.position.length < 4));
  if (shape === 'star' && network.with_hosts) return starPlaces(network);
  if (shape === 'torus' && grid) return torusPlaces(network);
  if (shape === 'dragonfly') return groupPlaces(network);
  return levelPlaces(network);
}

/** Whether a cable closes a ring of a torus: it is drawn as two stubs that point outwards. */
function closesRing(network, { a, b }) {
  const [p, q] = [network.vertices[a].position, network.vertices[b].position];
  return network.shape === 'torus' && p && q && p.some((c, i) => Math.abs(c - q[i]) > 1);
}

/** The directions of a run's cables as halves of lines, the busiest last and so on top. */
function halves(network, places, run) {
  return network.cables.flatMap((cable) => {
    const load = cable.loads[run];
    const stub = closesRing(network, cable) ? -0.12 : 0.5;
    return [[cable.a, cable.b, load[0], load[2]], [cable.b, cable.a, load[1], load[3]]]
      .map(([from, to, busy, queue]) => ({ x: places[from].x, y: places[from].y,
        x2: places[from].x + (places[to].x - places[from].x) * stub,
        y2: places[from].y + (places[to].y - places[from].y) * stub, busy,
        link: `${network.vertices[from].name} → ${network.vertices[to].name}`,
        cables: cable.cables, queue: bytesText(queue) }));
  }).sort((p, q) => p.busy - q.busy);
}

function vertexLayers(context, places, width) {
  const { network } = context;
  const { vertices } = network;
  const values = vertices.map((v, i) => ({ ...places[i], name: v.name, group: v.group ?? '–',
    kind: v.host ? 'host' : 'switch' }));
  const place = { x: { field: 'x', type: 'quantitative' }, y: { field: 'y', type: 'quantitative' } };
  const many = vertices.length > 150;
  const point = { data: { values }, mark: { type: 'point', filled: true, opacity: 1,
    stroke: context.theme.surface, strokeWidth: many ? 0.5 : 1.25 }, encoding: { ...place,
    shape: { field: 'kind', type: 'nominal', legend: null,
      scale: { domain: ['host', 'switch'], range: ['circle', 'square'] } },
    size: { field: 'kind', type: 'ordinal', legend: null,
      scale: { domain: ['host', 'switch'], range: many ? [14, 30] : [44, 110] } },
    color: { field: 'kind', type: 'nominal', legend: null, scale: { domain: ['host', 'switch'],
      range: [context.theme.muted, context.theme.text] } },
    tooltip: [{ field: 'name' }, { field: 'kind' }, { field: 'group' }] } };
  // Names where there is room: beside hosts of a star, above few switches.
  const isStar = network.shape === 'star';
  const room = isStar ? width / 2 - 240 : 110;
  if (vertices.length > 40 || width < 460 || room < 60) return [point];
  const named = values.filter((v) => isStar === (v.kind === 'host')).map((v) => ({ ...v,
    x: isStar ? v.x * 1.07 : v.x, y: isStar ? v.y * 1.07 : v.y }));
  const text = (align, keep) => ({ data: { values: named.filter(keep) }, mark: { type: 'text',
    align, dy: isStar ? 0 : -14, fontSize: 12, limit: Math.min(110, room), color: context.theme.text },
  encoding: { ...place, text: { field: 'name' } } });
  if (!isStar) return [point, text('center', () => true)];
  return [point, text('left', (v) => v.x > 0.1), text('right', (v) => v.x < -0.1),
    text('center', (v) => Math.abs(v.x) <= 0.1)];
}

function topologyChart(context, run, width) {
  const { network } = context;
  const { places, round, rows } = placesOf(network);
  const values = halves(network, places, run);
  const xs = [...places.filter(Boolean).map((p) => p.x), ...values.map((v) => v.x2)];
  const ys = [...places.filter(Boolean).map((p) => p.y), ...values.map((v) => v.y2)];
  const [left, right] = [Math.min(...xs), Math.max(...xs)];
  const [low, high] = [Math.min(...ys), Math.max(...ys)];
  const most = network.shape === 'star' ? 460 : 640;
  const height = round ? Math.round(Math.min(width + 50, most)) : Math.max(160, 130 * rows);
  let margin = { x: (right - left || 1) * 0.03, y: (high - low || 1) * 0.08 };
  if (round) {  // one scale for both, so that a circle is one
    const scale = Math.min((width - 30) / (right - left || 1), (height - 50) / (high - low || 1));
    margin = { x: (width / scale - (right - left)) / 2, y: (height / scale - (high - low)) / 2 };
  }
  const axis = (domain, more) => ({ type: 'quantitative', axis: null,
    scale: { domain, nice: false, zero: false }, ...more });
  const x = axis([left - margin.x, right + margin.x], { field: 'x' });
  const y = axis([low - margin.y, high + margin.y], { field: 'y' });
  const count = values.length;
  return { ...base(height), layer: [
    { data: { values }, mark: { type: 'rule', strokeCap: 'butt',
      strokeWidth: [5, 3.5, 2, 1.25, 0.75][[80, 300, 1200, 4000, Infinity]
        .findIndex((most) => count <= most)] },
    encoding: { x, y, x2: { field: 'x2' }, y2: { field: 'y2' },
      color: { ...shade(context, 1, 'busy, share of the time', '.0%'), field: 'busy' },
      tooltip: [{ field: 'link' }, { field: 'busy', format: '.1%' },
        { field: 'queue', title: 'waits on average' }, { field: 'cables' }] } },
    ...vertexLayers(context, places, width)] };
}

function topologyFigure(context) {
  const { network, of } = context;
  const width = panelWidth(of.length);
  const { places } = placesOf(network);
  return { layout: layoutOf(context),
    charts: of.map((run, i) => ({ ...runTitle(context, run, i), name: `Load of links ${run.name}`,
      spec: topologyChart(context, i, width) })),
    table: { head: ['Link', ...(of.length > 1 ? ['Run'] : []), 'Busy', 'Waits on average'],
      rows: of.flatMap((run, i) => halves(network, places, i).reverse().slice(0, 50)
        .map((h) => [h.link, ...(of.length > 1 ? [run.name] : []), percent(h.busy), h.queue])) } };
}

// ---- loads

function loadChart(context, run, kinds) {
  const values = run.distribution.flatMap((d) => {
    const last = Math.max(1, d.loads.length - 1);
    // A single link has a line too.
    const loads = d.loads.length > 1 ? d.loads : [d.loads[0], d.loads[0]];
    return loads.map((load, i) => ({ run: d.name, share: i / last, load, links: d.links }));
  });
  return { ...base(240), data: { values }, mark: { type: 'line', strokeWidth: 2,
    interpolate: 'step-after' }, encoding: {
    x: { field: 'share', type: 'quantitative', title: 'share of the links, the busiest first',
      axis: { format: '.0%' }, scale: { domain: [0, 1], nice: false } },
    y: { field: 'load', type: 'quantitative', title: 'busy, share of the time',
      axis: { format: '.0%' }, scale: { domain: [0, 1], nice: false } },
    color: colour(context, kinds),
    strokeDash: perRun(kinds, (k) => dashes[lookOf(k.index).shape]),
    tooltip: [{ field: 'run', title: 'links' }, { field: 'links', title: 'how many' },
      { field: 'share', title: 'busiest', format: '.0%' }, { field: 'load', title: 'busy',
        format: '.1%' }] } };
}
function loadFigure(context) {
  const kinds = distinct(context.of.flatMap((run) => run.distribution.map((d) => d.name)))
    .map((label, index) => ({ label, index }));
  return { layout: layoutOf(context),
    key: kinds.map((k) => ({ line: k.index, dash: dashOf(k), text: k.label })),
    charts: context.of.map((run, i) => ({ ...runTitle(context, run, i),
      name: `Spread of load ${run.name}`, spec: loadChart(context, run, kinds) })),
    table: { head: ['Links', ...(context.of.length > 1 ? ['Run'] : []), 'How many', 'Mean',
      'Busiest', 'Median', 'Idlest'],
    rows: context.of.flatMap((run) => run.distribution.map((d) => [d.name,
      ...(context.of.length > 1 ? [run.name] : []), String(d.links), percent(d.mean),
      percent(d.loads[0]), percent(d.loads[Math.floor(d.loads.length / 2)]),
      percent(d.loads[d.loads.length - 1])])) } };
}

// ---- pictures over time

const pen = document.createElement('canvas').getContext('2d');
function textWidth(context, text) {
  pen.font = `12px ${context.theme.font}`;
  return pen.measureText(text).width;
}

/** `name` in at most `room` pixels: more of its end, where names differ, than of its start. */
function cutName(context, name, room) {
  if (textWidth(context, name) <= room) return name;
  const letters = [...name];
  for (let keep = Math.min(letters.length - 1, 60); keep > 1; --keep) {
    const first = Math.ceil(keep / 3);
    const cut = `${letters.slice(0, first).join('')}…${letters.slice(first - keep).join('')}`;
    if (textWidth(context, cut) <= room) return cut;
  }
  return '…';
}

/** "s3 → h12", and `more` behind it, in at most `room` pixels. */
function linkLabel(context, [from, to], more, room) {
  const [a, b] = [from, to].map((name) => textWidth(context, name));
  const left = room - textWidth(context, ` → ${more}`);
  // What one name leaves of its half is for the other.
  return `${cutName(context, from, Math.max(left / 2, left - b))} → ${
    cutName(context, to, Math.max(left / 2, left - a))}${more}`;
}

/** Names for the axis, no two the same: Vega would cut long ones at their ends. */
function axisNames(context, rows, room) {
  const taken = new Set();
  return rows.map((row) => {
    let name = linkLabel(context, row.short, '', room);
    for (let i = 2; taken.has(name); ++i) name = linkLabel(context, row.short, ` (${i})`, room);
    taken.add(name);
    return name;
  });
}

function heatChart(context, run, rows, top, words, width) {
  const unit = unitFor(run.end_us, timeUnits);
  const names = axisNames(context, rows, width > 620 ? 220 : 124);
  const values = rows.flatMap((row, r) => row.values.map((value, i) => ({ row: names[r],
    link: row.name, value: value / words.factor, from: (i * run.step_us) / unit.factor,
    to: Math.min((i + 1) * run.step_us, run.end_us) / unit.factor })))
    .filter((cell) => cell.value > 0);
  return { ...base(16 * rows.length), data: { values }, mark: { type: 'rect', strokeWidth: 0 },
    encoding: {
      x: { field: 'from', type: 'quantitative', title: `${unit.name} since the start`,
        scale: { domain: [0, run.end_us / unit.factor], nice: false } },
      x2: { field: 'to' },
      y: { field: 'row', type: 'nominal', sort: names, title: null,
        scale: { paddingInner: 0.12 }, axis: { grid: false, labelOverlap: false, labelLimit: 0 } },
      color: { ...shade(context, top, words.title, words.format), field: 'value' },
      tooltip: [{ field: 'link' },
        { field: 'from', title: `from (${unit.name})`, format: '.4~g' },
        { field: 'value', title: words.short, format: words.format ?? '.4~g' }] } };
}
function heatFigure(context, field, words, text) {
  const runs = context.of.map((run, i) => ({ ...run, number: i }))
    .filter((run) => run[field].length > 0);
  // Rows of one name are one: parallel cables.
  const named = runs.map((run) => {
    const seen = new Map();
    return run[field].map((row) => {
      seen.set(row.name, (seen.get(row.name) ?? 0) + 1);
      return seen.get(row.name) > 1 ? { ...row, name: `${row.name} (${seen.get(row.name)})` } : row;
    });
  });
  const most = Math.max(...named.flatMap((rows) => rows.flatMap((row) => row.values)));
  const { factor, top, ...rest } = words(most);
  const width = panelWidth(runs.length);
  return { layout: runs.length > 1 ? 'panels' : '',
    charts: runs.map((run, i) => ({ ...runTitle(context, run, run.number),
      name: `${rest.short} over time ${run.name}`,
      spec: heatChart(context, run, named[i], top, { factor, ...rest }, width) })),
    table: { head: ['Link', ...(runs.length > 1 ? ['Run'] : []), 'Mean', 'Highest step'],
      rows: runs.flatMap((run, i) => named[i].map((row) => [row.name,
        ...(runs.length > 1 ? [run.name] : []),
        text(row.values.reduce((sum, v) => sum + v, 0) / row.values.length),
        text(Math.max(...row.values))])) } };
}
function bytesWords(most) {
  const unit = unitFor(most, sizeUnits);
  return { factor: unit.factor, top: most / unit.factor, title: `bytes that wait, in ${unit.name}`,
    short: `waits (${unit.name})`, format: undefined };
}
const queueFigure = (context) => heatFigure(context, 'queues', bytesWords, bytesText);
const backlogFigure = (context) => heatFigure(context, 'backlog', bytesWords, bytesText);
const busyFigure = (context) => heatFigure(context, 'busy', () => ({ factor: 1, top: 1,
  title: 'busy, share of the step', short: 'busy', format: '.0%' }), percent);

// ---- messages

/** Each job's and traffic's messages of each run, as the chart builders have runs. */
function messageSeries(context) {
  return context.of.flatMap((run) => run.messages.map((m) => ({ ...m,
    label: context.of.length > 1 ? `${run.name}: ${m.name}` : m.name })))
    .map((m, index) => ({ ...m, index }));
}
const seriesKey = (all) => (all.length > 1 ? signKey(all) : []);
/** As tallAxis, for an axis that lies. */
const longAxis = (title, values) => tallAxis(title, values);

function latencyFigure(context) {
  const all = messageSeries(context).filter((m) => m.buckets.length > 0);
  const unit = unitFor(Math.max(...all.map((m) => m.median)), timeUnits);
  const values = all.flatMap((m) => {
    let sum = 0;
    const total = m.buckets.reduce((s, [, , count]) => s + count, 0);
    return [{ run: m.label, at: m.buckets[0][0] / unit.factor, share: 0 },
      ...m.buckets.map(([, to, count]) => {
        sum += count;
        return { run: m.label, at: to / unit.factor, share: sum / total };
      })].filter((v) => v.at > 0);
  });
  const x = longAxis(`${unit.name} from posting to arrival`, values.map((v) => v.at));
  const spec = { ...base(280), data: { values }, mark: { type: 'line', strokeWidth: 2 }, encoding: {
    x: { ...x, field: 'at', axis: { ...x.axis, labelOverlap: true } },
    y: { field: 'share', type: 'quantitative', title: 'share of the messages that had arrived',
      axis: { format: '.0%' }, scale: { domain: [0, 1], nice: false } },
    color: colour(context, all), strokeDash: perRun(all, dashOf),
    tooltip: [{ field: 'run', title: 'messages of' },
      { field: 'at', title: `within (${unit.name})`, format: '.4~g' },
      { field: 'share', title: 'had arrived', format: '.1%' }] } };
  return { layout: '', key: all.length > 1
    ? all.map((m) => ({ line: m.index, dash: dashOf(m), text: m.label })) : [],
  charts: [{ name: 'Share of messages that had arrived', spec }],
  table: { head: ['Messages of', 'Arrived', 'Median', 'p90', 'p99', 'Max'],
    rows: all.map((m) => [m.label, m.messages.toLocaleString('en-GB'), time(m.median), time(m.p90),
      time(m.p99), time(m.max)]) } };
}

function sizesFigure(context) {
  const all = messageSeries(context).filter((m) => m.sizes.length > 1);
  const times = all.flatMap((m) => m.sizes.flatMap((s) => [s.min, s.max])).filter((v) => v > 0);
  const unit = unitFor(Math.max(...all.flatMap((m) => m.sizes.map((s) => s.median))), timeUnits);
  const charts = all.map((m) => {
    const values = m.sizes.map((s) => ({ size: `${size(s.from_bytes)}…`, count: s.messages,
      ...scaled({ min: s.min, p10: s.p10, median: s.median, p90: s.p90, max: s.max },
        1 / unit.factor) }));
    const x = { field: 'size', type: 'ordinal', sort: null, title: 'message size, from',
      axis: { labelAngle: values.length > 8 ? -40 : 0, domain: false, ticks: false } };
    const y = tallAxis(`${unit.name} from posting to arrival`, times.map((v) => v / unit.factor));
    return { title: m.label, sign: m.index, name: `Time by size, ${m.label}`,
      spec: { ...base(260), data: { values }, layer: boxLayers(context, x, y,
        { value: own(context, m) }, [{ field: 'count', title: 'messages' },
          ...boxTooltip({ field: 'size', title: 'from' }, ` (${unit.name})`)]) } };
  });
  return { layout: all.length > 1 ? 'panels' : '', charts,
    table: { head: ['Messages of', 'From', 'Arrived', 'Median', 'p90', 'p99'],
      rows: all.flatMap((m) => m.sizes.map((s) => [m.label, size(s.from_bytes),
        s.messages.toLocaleString('en-GB'), time(s.median), time(s.p90), time(s.p99)])) } };
}

function flowsFigure(context) {
  const all = messageSeries(context).filter((m) => m.flows.length > 0);
  const flat = all.flatMap((m) => m.flows.map(([start, took, bytes]) => ({ run: m.label, start,
    took, bytes: bytesText(bytes) })));
  const unit = unitFor(Math.max(...all.map((m) => m.median)), timeUnits);
  const along = unitFor(Math.max(...flat.map((f) => f.start)), timeUnits);
  const values = flat.map((f) => ({ ...f, start: f.start / along.factor,
    took: f.took / unit.factor }));
  const y = tallAxis(`${unit.name} from posting to arrival`, values.map((v) => v.took));
  const spec = { ...base(300), data: { values }, mark: { type: 'point', filled: true, size: 16,
    opacity: 0.6 }, encoding: {
    x: { field: 'start', type: 'quantitative', title: `posted, ${along.name} since the start`,
      scale: { nice: false, domainMin: 0 } },
    y: { ...y, field: 'took' }, color: colour(context, all), shape: shape(all),
    tooltip: [{ field: 'run', title: 'message of' }, { field: 'bytes', title: 'size' },
      { field: 'start', title: `posted (${along.name})`, format: '.4~g' },
      { field: 'took', title: `took (${unit.name})`, format: '.4~g' }] } };
  return { layout: '', key: seriesKey(all), charts: [{ name: 'Messages one by one', spec }],
    table: { head: ['Messages of', 'Shown', 'Shortest shown', 'Longest shown'],
      rows: all.map((m) => [m.label, String(m.flows.length),
        time(Math.min(...m.flows.map((f) => f[1]))), time(Math.max(...m.flows.map((f) => f[1])))])
    } };
}

{
  const { network, of } = JSON.parse(document.getElementById('data').textContent);
  show({ network, of, builders: { topology: topologyFigure, load: loadFigure, queues: queueFigure,
    busy: busyFigure, backlog: backlogFigure, latency: latencyFigure, sizes: sizesFigure,
    flows: flowsFigure } });
}
