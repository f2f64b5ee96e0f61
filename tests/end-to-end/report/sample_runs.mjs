// SPDX-License-Identifier: Apache-2.0
// Records of runs that never happened, for looking at reports: the same numbers every time, shaped
// like what the schedules do (best effort spreads wide and fills buffers, dfs does not).

/** mulberry32: small, seeded, the same everywhere. */
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
const gauss = (next) => [0, 0, 0, 0, 0, 0].reduce((sum) => sum + next(), 0) / 3 - 1;

function quantiles(values) {
  const s = [...values].sort((a, b) => a - b);
  const at = (f) => s[Math.round(f * (s.length - 1))];
  return { min: at(0), p10: at(0.1), median: at(0.5), p90: at(0.9), max: at(1) };
}

const floorUs = 7864;
const limit = 95.2e6;
const shapeOf = {
  'best-effort': { share: 0.58, spread: 13.2, jitter: 0.45, fill: 0.78, waits: 5321 },
  offset: { share: 0.83, spread: 3.4, jitter: 0.5, fill: 0.42, waits: 911 },
  dfs: { share: 0.968, spread: 1.04, jitter: 0.05, fill: 0.11, waits: 3 },
  grant: { share: 0.981, spread: 1.02, jitter: 0.02, fill: 0.09, waits: 0 },
};

function intervals(next, seconds) {
  const rows = [];
  let start = 0;
  for (let id = 0; id < 40; ++id) {
    const slow = id >= 15 && id < 20 ? 1.25 : 1;
    const catching = id >= 20 && id < 28 ? 1.25 - (id - 19) * 0.028 : 1;
    const fair = (seconds * 1e6) / 42;
    const actual = fair * Math.max(slow, catching) * (1 + 0.012 * gauss(next));
    const proposed = id < 2 ? null : fair * catching * (1 + 0.006 * gauss(next));
    rows.push({ id, start_us: start, proposed_us: proposed, actual_us: actual });
    start += actual;
  }
  return rows;
}

function series(next, shape, { inputs, computes, seconds, count }) {
  const timeslices = [];
  for (let i = 0; i < count; ++i) {
    const settle = 1 + 2 * Math.exp(-i / (count * 0.02));
    const spread = floorUs
      * Math.max(1, shape.spread * settle * Math.exp(shape.jitter * gauss(next)));
    timeslices.push({ t_us: ((i + 1) / count) * seconds * 1e6, index: i, compute: i % computes,
      spread_us: spread });
  }
  const goodput = [];
  const fill = [];
  for (let t = 0.25; t <= seconds; t += 0.25) {
    const settle = 1 - Math.exp(-t * 4);
    goodput.push({ t_us: t * 1e6,
      bytes_per_s: limit * shape.share * settle * (1 + 0.06 * shape.jitter * gauss(next)) });
    for (let compute = 0; compute < computes; ++compute) {
      for (let input = 0; input < inputs; ++input) {
        const level = shape.fill * (0.4 + 1.1 * next());
        fill.push({ t_us: t * 1e6, compute, input, fill: Math.min(1, Math.max(0, level)) });
      }
    }
  }
  return { timeslices, goodput, buffer_fill: fill };
}

export function streamRun(schedule, options = {}) {
  const { inputs = 4, computes = 4, seconds = 12, count = 2400, buffer = 16, seed = 7 } = options;
  const next = random(seed + schedule.length * 1000 + buffer);
  const shape = shapeOf[schedule];
  const data = series(next, shape, { inputs, computes, seconds, count });
  const goodput = limit * shape.share;
  return {
    schedule, fabric: 'shaped(tcp)', inputs, computes, timeslices_sent: count,
    timeslices_complete: count, timeslices_incomplete: 0, timeslices_lost: 0,
    bytes: Math.round(goodput * seconds), seconds, goodput_bytes_per_s: goodput,
    limit_bytes_per_s: limit, goodput_of_limit: shape.share,
    spread_us: quantiles(data.timeslices.map((s) => s.spread_us)), spread_floor_us: floorUs,
    buffer_fill: quantiles(data.buffer_fill.map((s) => s.fill)), credit_waits: shape.waits,
    quorum_wait_s: 0,
    intervals: schedule === 'dfs' ? intervals(next, seconds) : [], seed, version: '0.1.0',
    checks: { errors: 0, first_error: '', dropped: 0, repeated: 0, late: 0 },
    parameters: { inputs: String(inputs), computes: String(computes), schedule,
      link: '200Mbit,20us', source: 'pattern:?size=64KiB', sink: 'check:',
      timeslices: String(count), buffer: String(buffer), 'interval-rounds': '100',
      history: '10', 'speed-up-threshold': '10%', 'speed-up': '5%' },
    machine: { host: 'atlas-17', cpus: 2,
      model: 'A processor with a rather long model name @ 2.40GHz',
      kernel: 'Linux 6.1.0-18-amd64 x86_64', memory_bytes: 8589934592 },
    command: `weft stream compare --inputs ${inputs} --computes ${computes} --link 200Mbit,20us `
      + `--source 'pattern:?size=64KiB' --sink check: --timeslices ${count} --buffer ${buffer} `
      + `--seed ${seed} --schedules best-effort,offset,dfs --out out`,
    series: data, limit: [],
  };
}

export function limitRun(fabric, options = {}) {
  const { inputs = 4, computes = 4, factor = 1 } = options;
  const next = random(fabric.length);
  const rows = [];
  for (let bytes = 1024; bytes <= 1024 * 1024; bytes *= 2) {
    for (const mix of [false, true]) {
      const overhead = (mix ? 24 : 9) * (1 + 0.05 * gauss(next));
      const perMessage = overhead + bytes / (1200 * factor);
      const perSender = (bytes / perMessage) * 1e6;
      rows.push({ message_bytes: bytes, mix, round_us: perMessage * computes,
        bandwidth_per_sender_bytes_per_s: perSender, aggregate_bytes_per_s: perSender * inputs });
    }
  }
  const best = Math.max(...rows.map((r) => r.aggregate_bytes_per_s));
  return { ...streamRun('best-effort', { inputs, computes, count: 1 }), schedule: 'limit', fabric,
    timeslices_sent: 0, timeslices_complete: 0, goodput_bytes_per_s: best, limit_bytes_per_s: null,
    goodput_of_limit: null, spread_us: null, spread_floor_us: null, buffer_fill: null,
    credit_waits: 0, quorum_wait_s: 0, parameters: { sizes: '1KiB..1MiB', mix: 'yes' },
    command: `weft stream limit --fabric ${fabric} --sizes 1KiB..1MiB --mix --out out`,
    series: { timeslices: [], goodput: [], buffer_fill: [] }, limit: rows };
}

/** The shortest run there can be: one node each, one timeslice, spread and floor 0. */
function tinyRun() {
  const none = { min: 0, p10: 0, median: 0, p90: 0, max: 0 };
  return { ...streamRun('dfs', { inputs: 1, computes: 1, count: 1 }), seconds: 0,
    goodput_bytes_per_s: null, spread_us: none, spread_floor_us: 0, buffer_fill: none,
    intervals: [{ id: 0, start_us: 0, proposed_us: null, actual_us: 0 }],
    series: { timeslices: [{ t_us: 0, index: 0, compute: 0, spread_us: 0 }],
      goodput: [{ t_us: 0, bytes_per_s: 0 }],
      buffer_fill: [{ t_us: 0, compute: 0, input: null, fill: 0 }] } };
}

/** As of a large run: of each moment and compute node the record holds one ring of 64. */
function sampledRun(schedule) {
  const run = streamRun(schedule, { inputs: 64, count: 400, seconds: 3 });
  return { ...run, series: { ...run.series,
    buffer_fill: run.series.buffer_fill.filter((s) => s.input === 16 * (s.compute % 4)) } };
}

/** A compute node is killed in the middle and comes back. */
function killedRun() {
  const run = streamRun('grant', { inputs: 4, computes: 4 });
  return { ...run, checks: { ...run.checks, repeated: 21 },
    faults: [{ t_us: 4.0e6, what: 'kill host5' }, { t_us: 7.5e6, what: 'restart host5' }],
    by_compute: [{ compute: 0, timeslices: 700, repeated: 7, reported: true },
      { compute: 1, timeslices: 300, repeated: 0, reported: false },
      { compute: 2, timeslices: 701, repeated: 7, reported: true },
      { compute: 3, timeslices: 699, repeated: 7, reported: true }],
    parameters: { ...run.parameters, fault: 'at=4s kill host5 and then, much later, restart host5' } };
}

/** Everything that a record can hold to break out of its place in the page. */
export function hostileRun() {
  const attack = '</script><script>hacked=1</script><img src=x onerror=hacked=1>"\'&<!--';
  const run = streamRun('dfs', { count: 50 });
  return { ...run, schedule: attack, fabric: attack, version: attack, command: attack,
    checks: { ...run.checks, errors: 2, first_error: attack }, timeslices_lost: 3,
    parameters: { [attack]: attack }, machine: { ...run.machine, host: attack, model: attack } };
}

/** The directories that the tests look at: name to { file: object }. */
export const samples = {
  comparison: { 'compare.json': {
    runs: ['best-effort', 'offset', 'dfs'].map((s) => streamRun(s)) } },
  sampled: { 'compare.json': { runs: ['best-effort', 'offset', 'dfs', 'grant'].map(sampledRun) } },
  single: { 'run.json': streamRun('dfs') },
  limit: { 'compare.json': { runs: [limitRun('tcp'), limitRun('libfabric:shm', { factor: 3 })] } },
  one_limit: { 'run.json': limitRun('tcp') },
  many: { 'compare.json': { runs: [2, 4, 16].flatMap((buffer) => ['best-effort', 'dfs', 'grant']
    .map((s) => streamRun(s, { buffer, count: 600, inputs: 24, computes: 4, seconds: 6 }))) } },
  sparse: { 'run.json': { ...streamRun('offset', { count: 1 }), limit_bytes_per_s: null,
    goodput_of_limit: null, spread_us: null, spread_floor_us: null, buffer_fill: null,
    parameters: {}, command: '', series: { timeslices: [], goodput: [], buffer_fill: [] } } },
  tiny: { 'run.json': tinyRun() },
  killed: { 'run.json': killedRun() },
  hostile: { 'run.json': hostileRun() },
};
