// SPDX-License-Identifier: Apache-2.0
// Looks at reports in a headless Chromium:
//   node report_test.mjs TEST OUTPUT_DIR CHROMIUM REPORT_COMMAND…
// runs one test of the table at the end. Screenshots stay in OUTPUT_DIR/screenshots.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Browser } from './chromium.mjs';
import { chartsDrawn, checkQuiet, look } from './looks.mjs';
import { samples } from './sample_runs.mjs';

const [test, output, chromium, ...reportCommand] = process.argv.slice(2);
const home = path.join(output, test);

function writeReport(files) {
  fs.rmSync(home, { recursive: true, force: true });
  fs.mkdirSync(home, { recursive: true });
  for (const [name, content] of Object.entries(files)) {
    fs.writeFileSync(path.join(home, name),
      typeof content === 'string' ? content : JSON.stringify(content));
  }
  const [program, ...args] = reportCommand;
  return spawnSync(program, [...args, home], { encoding: 'utf8' });
}

// The file that fetch-libraries.sh leaves when npm's registry cannot be reached.
const noLibraries = '// weft was built without its chart libraries.';
function withoutLibraries(html) {
  return html.replace(/<script>\n[\s\S]*?<\/script>/, `<script>\n${noLibraries}\n</script>`);
}

/** Writes the sample's report and calls `body` with a browser and the report's address. */
async function withReport(body) {
  const written = writeReport(samples[test === 'without_charts' ? 'comparison' : test]);
  assert.equal(written.status, 0, written.stderr);
  const file = path.join(home, 'report.html');
  assert.equal(written.stdout.trim(), file);
  if (test === 'without_charts') {
    fs.writeFileSync(file, withoutLibraries(fs.readFileSync(file, 'utf8')));
  } else if (fs.readFileSync(file, 'utf8').includes(noLibraries)) {
    console.log('skipped: built where npm could not be reached, without charts');
    process.exit(77);
  }
  const browser = await Browser.start(chromium, path.join(home, 'profile'));
  try {
    await body(browser, pathToFileURL(path.resolve(file)).href);
  } finally {
    await browser.close();
  }
}

const streamFigures = ['spread', 'goodput', 'progress', 'intervals', 'fill'];
const limitFigures = ['round', 'sender', 'aggregate'];
const draws = (expected, more = async () => {}) => () => withReport(async (browser, url) => {
  await look(browser, url, expected, path.join(output, 'screenshots'), test,
    { all: test === 'comparison' });
  await more(browser, url);
});

/** The charts follow when the reader's system changes from light to dark. */
async function followsTheme(browser, url) {
  const page = await browser.open(url, { width: 1280 });
  await page.until(chartsDrawn);
  const before = await page.run(() =>
    document.querySelector('.chart svg text').getAttribute('fill'));
  await page.theme('dark');
  await page.until((old) => {
    const colour = document.querySelector('.chart svg text')?.getAttribute('fill');
    return colour && colour !== old;
  }, before);
  checkQuiet(page, url);
  await page.close();
}

/** A mark under the pointer tells its figures. */
async function tellsFigures(browser, url) {
  const page = await browser.open(url, { width: 1280 });
  await page.until(chartsDrawn);
  const place = await page.run(() => {
    const bar = document.querySelector('#goodput .mark-rect path');
    bar.scrollIntoView({ block: 'center', behavior: 'instant' });
    const box = bar.getBoundingClientRect();
    return { x: box.left + box.width / 2, y: box.top + box.height / 2 };
  });
  await page.send('Input.dispatchMouseEvent', { type: 'mouseMoved', ...place });
  const tip = await page.until(() => {
    const shown = document.querySelector('#vg-tooltip-element.visible');
    return shown && { text: shown.textContent, position: getComputedStyle(shown).position };
  });
  assert.match(tip.text, /best-effort.*goodput \(MB\/s\).*55\.22/);
  assert.equal(tip.position, 'fixed');
  checkQuiet(page, url);
  await page.close();
}

/** On a narrow screen names and values of parameters are seen whole, without scrolling aside. */
async function showsParametersWhole(browser, url) {
  const page = await browser.open(url, { width: 400 });
  await page.until(chartsDrawn);
  const cut = await page.run(() => [...document.querySelectorAll('table.parameters th, table.parameters td')]
    .filter((cell) => cell.getClientRects().length > 0)
    .filter((cell) => cell.getBoundingClientRect().right > 400 || cell.scrollWidth > cell.clientWidth + 1)
    .map((cell) => cell.textContent));
  assert.deepEqual(cut, []);
  await page.close();
}

/** The key explains the lines: words inside of a chart would cover its data. */
async function keepsWordsOutOfCharts(browser, url) {
  const page = await browser.open(url, { width: 1280 });
  await page.until(chartsDrawn);
  const seen = await page.run(() => ['spread', 'progress'].map((id) => {
    const figure = document.getElementById(id);
    return { inside: figure.querySelectorAll('.mark-text.role-mark text').length,
      key: [...figure.querySelectorAll('ul.key li')].map((item) => item.textContent) };
  }));
  for (const { inside, key } of seen) {
    assert.equal(inside, 0, 'words inside of the chart');
    assert.ok(key.includes('kill host5 at 4 s'), `the fault in ${key}`);
  }
  assert.ok(seen[0].key.some((text) => text.startsWith('floor ')), 'the floor');
  assert.ok(seen[1].key.some((text) => text.startsWith('limit ')), 'the limit');
  const rows = await page.run(() => [...document.querySelectorAll('table.rebuilt tbody tr')]
    .map((row) => row.textContent));
  assert.equal(rows.length, 4);
  assert.match(rows[1], /compute 1, host5.*300.*kill host5 at 4 s, restart host5 at 7.5 s; gone/);
  await page.close();
}

/** Of a sample of rings there is one box for each run, and the page says that it is one. */
async function showsSampledFillAsBoxes(browser, url) {
  const page = await browser.open(url, { width: 1280 });
  await page.until(chartsDrawn);
  const seen = await page.run(() => {
    const figure = document.getElementById('fill');
    return { said: figure.querySelector('.reading').textContent,
      charts: figure.querySelectorAll('.chart').length,
      boxes: figure.querySelectorAll('.mark-rule.role-mark line').length,
      words: [...figure.querySelectorAll('svg text')].map((t) => t.textContent),
      head: [...figure.querySelectorAll('thead th')].map((cell) => cell.textContent) };
  });
  assert.match(seen.said, /a sample of them/);
  assert.equal(seen.charts, 1);
  assert.equal(seen.boxes, 4);
  for (const run of ['best-effort', 'offset', 'dfs', 'grant']) assert.ok(seen.words.includes(run));
  assert.ok(!seen.words.some((text) => text.includes('fullest first')), 'no places');
  assert.deepEqual(seen.head, ['Run', 'Min', 'p10', 'Median', 'p90', 'Max']);
  await page.close();
}

/** Text of a record is shown as it stands and never acts. */
async function showsTextOnly(browser, url) {
  const page = await browser.open(url, { width: 1280 });
  await page.until(chartsDrawn);
  assert.equal(await page.run(() => typeof hacked), 'undefined');
  assert.equal(await page.run(() => document.images.length), 0);
  const attack = samples.hostile['run.json'].command;
  assert.equal(await page.run(() => document.querySelector('pre code').textContent), attack);
  await page.close();
}

/** In place of charts, a page says why there are none, and its tables are open. */
async function showsTables(browser, url) {
  const page = await browser.open(url, { width: 1280 });
  await page.until(chartsDrawn);
  const seen = await page.run(() => [...document.querySelectorAll('section.figure')].map((s) => ({
    said: s.querySelector('.no-charts')?.textContent ?? '',
    rows: s.querySelectorAll('details[open] tbody tr').length,
    drawn: s.querySelectorAll('.chart').length,
  })));
  assert.equal(seen.length, streamFigures.length);
  for (const figure of seen) {
    assert.match(figure.said, /built without its chart libraries/);
    assert.ok(figure.rows > 0);
    assert.equal(figure.drawn, 0);
  }
  checkQuiet(page, url);
  await page.close();
}

const tests = {
  comparison: draws(streamFigures, async (browser, url) => {
    await followsTheme(browser, url);
    await tellsFigures(browser, url);
    await showsParametersWhole(browser, url);
  }),
  killed: draws(streamFigures.filter((figure) => figure !== 'intervals'), async (browser, url) => {
    await keepsWordsOutOfCharts(browser, url);
    await showsParametersWhole(browser, url);
  }),
  sampled: draws(streamFigures, showsSampledFillAsBoxes),
  single: draws(streamFigures),
  limit: draws(limitFigures),
  one_limit: draws(limitFigures),
  many: draws(streamFigures),
  sparse: draws(['goodput']),
  tiny: draws(streamFigures),
  without_charts: () => withReport(showsTables),
  hostile: draws(streamFigures, showsTextOnly),
  refuses_a_directory_without_runs: async () => {
    const written = writeReport({});
    assert.notEqual(written.status, 0);
    assert.match(written.stderr, /^weft: .*has no record.*\n$/);
  },
  refuses_a_malformed_record: async () => {
    const written = writeReport({ 'run.json': '{"schedule": 5, "fabric": "", "computes": 1}' });
    assert.notEqual(written.status, 0);
    assert.match(written.stderr, /^weft: .*run\.json: .*"schedule" is not text.*\n$/);
    assert.ok(!fs.existsSync(path.join(home, 'report.html')));
  },
};

await tests[test]();
console.log(`${test}: passed`);
