// SPDX-License-Identifier: Apache-2.0
// Looks at pages of simulated networks in a headless Chromium:
//   node network_test.mjs TEST OUTPUT_DIR CHROMIUM WEFT EXAMPLES
// runs one test of the table at the end. Screenshots stay in OUTPUT_DIR/screenshots.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Browser } from './chromium.mjs';
import { chartsDrawn, checkQuiet, look } from './looks.mjs';

const [test, output, chromium, weft, examples] = process.argv.slice(2);
const home = path.join(output, test);
const record = path.join(home, 'network.json');

function run(...args) {
  const ended = spawnSync(weft, args, { encoding: 'utf8' });
  assert.equal(ended.status, 0, ended.stderr);
  return ended.stdout.trim();
}
const uniform = (topology, ...more) => () => run('simulate', 'uniform', '--topology', topology,
  '--duration', '50us', '--out', home, ...more);

/** Calls `body` with a browser and the address of the directory's page. */
async function withPage(body) {
  const browser = await Browser.start(chromium, path.join(home, 'profile'));
  try {
    await body(browser, pathToFileURL(path.resolve(home, 'network.html')).href);
  } finally {
    await browser.close();
  }
}

const all = ['topology', 'load', 'queues', 'busy', 'backlog', 'latency', 'flows'];
const draws = (simulate, expected, more = async () => {}) => async () => {
  fs.rmSync(home, { recursive: true, force: true });
  fs.mkdirSync(home, { recursive: true });
  simulate();
  await withPage(async (browser, url) => {
    await look(browser, url, expected, path.join(output, 'screenshots'), `network-${test}`,
      { all: test === 'compare' });
    await more(browser, url);
  });
};

/** Lines of the topology that are drawn, and their colours. */
async function linesOf(browser, url) {
  const page = await browser.open(url, { width: 1280 });
  await page.until(chartsDrawn);
  const lines = await page.run(() => [...document.querySelectorAll('#topology .mark-rule line')]
    .map((line) => line.getAttribute('stroke')));
  checkQuiet(page, url);
  await page.close();
  return lines;
}

/** Each direction of each cable is there, and the one that all send over stands out. */
async function showsTheLoadOfLinks(browser, url) {
  const colours = await linesOf(browser, url);
  assert.equal(colours.length, 32);
  const red = colours.map((colour) => colour.match(/\d+/g).map(Number))
    .filter(([r, g, b]) => r > 1.5 * g && r > 1.5 * b);
  assert.equal(red.length, 1, 'one direction of one cable is busy');
}

/** The names of links at the axes of each chart over time. */
function linkNames() {
  return [...document.querySelectorAll('#queues .chart, #busy .chart, #backlog .chart')]
    .map((chart) => [...chart.querySelectorAll('.role-axis-label text')]
      .map((text) => text.textContent).filter((text) => text.includes('→')));
}
/** No two rows of a chart have the same name; the tooltip has the whole one. */
async function tellsLinksApart(browser, url) {
  for (const width of [1200, 400]) {
    const page = await browser.open(url, { width });
    await page.until(chartsDrawn);
    const charts = await page.run(linkNames);
    assert.ok(charts.length >= 3);
    for (const names of charts) {
      assert.ok(names.length > 0);
      assert.equal(new Set(names).size, names.length, `${names} at ${width}`);
      for (const name of names) assert.ok(!name.endsWith('…'), `${name} at ${width}`);
    }
    await page.close();
  }
}
async function namesLinksInShort(browser, url) {
  await tellsLinksApart(browser, url);
  const page = await browser.open(url, { width: 400 });
  await page.until(chartsDrawn);
  for (const name of (await page.run(linkNames)).flat()) {
    assert.match(name, /^[hs]\d+ → [hs]\d+( \(\d+\))?$/);
  }
  const place = await page.run(() => {
    const cell = document.querySelector('#busy .mark-rect path');
    cell.scrollIntoView({ block: 'center', behavior: 'instant' });
    const box = cell.getBoundingClientRect();
    return { x: box.left + box.width / 2, y: box.top + box.height / 2 };
  });
  await page.send('Input.dispatchMouseEvent', { type: 'mouseMoved', ...place });
  const tip = await page.until(() =>
    document.querySelector('#vg-tooltip-element.visible')?.textContent);
  assert.match(tip, /link.*(host|switch) \d+ → (host|switch) \d+/);
  await page.close();
}

/** Names that somebody gave are long, and differ at their ends only. */
function writeLongNames() {
  uniform('star:16')();
  const network = JSON.parse(fs.readFileSync(record, 'utf8'));
  network.topology.vertices.forEach((v, i) => {
    v.name = `rack-of-the-north-hall-with-water-${100 + i}`;
  });
  fs.writeFileSync(record, JSON.stringify(network));
  run('report', home);
}

/** All text of the record is someone else's. */
function writeHostileRecord() {
  uniform('star:8')();
  const attack = '</script><script>hacked = 1</script><img src=x onerror="hacked = 1">\u{1F600}';
  const network = JSON.parse(fs.readFileSync(record, 'utf8'));
  Object.assign(network, { version: attack, command: attack, parameters: { [attack]: attack } });
  Object.assign(network.topology, { name: attack, router: attack });
  network.topology.vertices.forEach((v) => { v.name = attack; });
  const [first] = network.runs;
  Object.assign(first, { name: attack, trace_hash: attack });
  first.messages.forEach((m) => { m.name = attack; });
  network.runs.push({ ...first, name: 'other' });
  fs.writeFileSync(record, JSON.stringify(network));
  run('report', home);
}
async function showsTextOnly(browser, url) {
  const page = await browser.open(url, { width: 1280 });
  await page.until(chartsDrawn);
  assert.equal(await page.run(() => typeof hacked), 'undefined');
  assert.equal(await page.run(() => document.images.length), 0);
  await page.close();
  await tellsLinksApart(browser, url);
}

/** The page of schedules side by side, reached from the report of their runs. */
function compare() {
  const scenario = path.join(home, 'job.toml');
  fs.writeFileSync(scenario, `seed = 3
[network]
topology = "fat-tree:16"
preset = "ib-edr"
[[traffic]]
load = 0.2
[job]
inputs = 3
computes = 3
source = "pattern:?size=16KiB"
timeslices = 100
`);
  run('stream', 'compare', '--schedules', 'best-effort,grant', '--fabric', `sim:${scenario}`,
    '--no-limit', '--out', home);
}
async function isLinkedFromTheReport(browser, url) {
  const report = url.replace('network.html', 'report.html');
  const page = await browser.open(report, { width: 1280 });
  assert.equal(await page.run(() => document.querySelector('main a[href]').href), url);
  await page.close();
}

const tests = {
  star: draws(uniform('star:16', '--pattern', 'incast', '--load', '0.05'), all,
    showsTheLoadOfLinks),
  fat_tree: draws(uniform('fat-tree:64', '--levels', '2'), all),
  fat_tree_1024: draws(() => run('simulate', path.join(examples, 'fat-tree-1024.toml'), '--out',
    home), all),
  dragonfly: draws(uniform('dragonfly:72', '--pattern', 'permutation'), all, namesLinksInShort),
  long_names: draws(writeLongNames, all, tellsLinksApart),
  dragonfly_384: draws(uniform('dragonfly:384,shape=xc40', '--network', 'aries'), all),
  torus: draws(uniform('torus:4x4'), all),
  torus_of_three_dimensions: draws(uniform('torus:4x4x4'), all),
  compare: draws(compare, [...all.slice(0, 6), 'sizes', 'flows'],
    async (browser, url) => {
      await isLinkedFromTheReport(browser, url);
      await namesLinksInShort(browser, url);
    }),
  hostile: draws(writeHostileRecord, all, showsTextOnly),
  refuses_a_malformed_record: async () => {
    fs.mkdirSync(home, { recursive: true });
    fs.writeFileSync(record, '{"version": 5, "command": "", "parameters": ""}');
    const ended = spawnSync(weft, ['report', home], { encoding: 'utf8' });
    assert.equal(ended.status, 1);
    assert.match(ended.stderr, /^weft: .*network\.json: .*"version" is not text.*\n$/);
  },
};

await tests[test]();
console.log(`${test}: passed`);
