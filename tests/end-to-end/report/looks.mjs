// SPDX-License-Identifier: Apache-2.0
// Checks of every page of a report, as a headless Chromium shows it.
import assert from 'node:assert/strict';
import path from 'node:path';

/** Whether the page says that all charts are drawn. Runs in the page. */
export function chartsDrawn() { return document.documentElement.dataset.charts === 'drawn'; }

/** Measures the page's looks. Runs in the page. */
function survey(width) {
  const marks = '.mark-symbol path, .mark-rect path, .mark-line path, .mark-area path, '
    + '.mark-rule line';
  const charts = [...document.querySelectorAll('.chart')].map((chart) => {
    const svg = chart.querySelector('svg');
    const frame = svg?.getBoundingClientRect();
    const texts = [...(svg?.querySelectorAll('text') ?? [])]
      .filter((t) => t.textContent && getComputedStyle(t).opacity !== '0');
    return { section: chart.closest('section').id, label: chart.getAttribute('aria-label'),
      role: chart.getAttribute('role'), width: frame?.width ?? 0, height: frame?.height ?? 0,
      marks: svg?.querySelectorAll(marks).length ?? 0,
      broken: [...(svg?.querySelectorAll('path') ?? [])]
        .filter((p) => /NaN|Infinity/.test(p.getAttribute('d'))).length,
      smallest: Math.min(...texts.map((t) => parseFloat(getComputedStyle(t).fontSize))),
      clipped: texts.filter((t) => {
        const box = t.getBoundingClientRect();
        return box.left < frame.left - 1 || box.right > frame.right + 1
          || box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
      }).map((t) => t.textContent) };
  });
  const outside = [...document.querySelectorAll('body *')].filter((node) => {
    if (node.closest('.scroll, pre, #vg-tooltip-element')) return false;
    return node.getBoundingClientRect().right > width + 1;
  }).map((node) => node.tagName + (node.className.baseVal ?? node.className));
  return { charts, outside, sections: [...document.querySelectorAll('section.figure')]
    .map((s) => s.id), scrollWidth: document.documentElement.scrollWidth };
}

/** Pairs of text and background whose contrast is below WCAG's 4.5. Runs in the page. */
function faintTexts() {
  const parse = (text) => text.match(/[\d.]+/g).map(Number);
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((v) => (v / 255 <= 0.03928 ? v / 255 / 12.92
      : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const background = (node) => {
    for (let n = node; n; n = n.parentElement) {
      const rgba = parse(getComputedStyle(n).backgroundColor);
      if (rgba.length < 4 || rgba[3] > 0) return rgba.slice(0, 3);
    }
    return [255, 255, 255];
  };
  const faint = new Set();
  for (const node of document.querySelectorAll('body *')) {
    if (['SCRIPT', 'STYLE'].includes(node.tagName)) continue;
    if (![...node.childNodes].some((c) => c.nodeType === 3 && c.data.trim())) continue;
    const style = getComputedStyle(node);
    const colour = node instanceof SVGElement ? style.fill : style.color;
    if (!colour.startsWith('rgb')) continue;
    const [a, b] = [luminance(parse(colour).slice(0, 3)), luminance(background(node))]
      .sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) faint.add(`${node.tagName}: ${node.textContent.trim()}`);
  }
  return [...faint].slice(0, 5);
}

function checkLooks(seen, width, expected) {
  assert.deepEqual(seen.sections, expected, 'the figures of this report');
  assert.ok(seen.scrollWidth <= width, `the page scrolls sideways at ${width}`);
  assert.deepEqual(seen.outside, [], `elements reach beyond the page at ${width}`);
  for (const section of seen.sections) {
    assert.ok(seen.charts.some((c) => c.section === section), `${section} has a chart`);
  }
  for (const chart of seen.charts) {
    const name = `chart of ${chart.section} at ${width}`;
    assert.ok(chart.width >= Math.min(200, width / 2) && chart.height > 60, `${name} has a size`);
    assert.ok(chart.marks > 0, `${name} has marks`);
    assert.equal(chart.broken, 0, `${name} has only finite places`);
    assert.ok(chart.smallest >= 11, `${name}: text of ${chart.smallest} pixels`);
    assert.deepEqual(chart.clipped, [], `${name} shows all of its text`);
    assert.equal(chart.role, 'img', name);
    assert.ok(chart.label.length > 20, `${name} is described in words`);
  }
}

export function checkQuiet(page, url) {
  assert.deepEqual(page.problems, [], 'nothing on the console');
  const other = page.requests.filter((r) => r !== url && !/^(data|blob):/.test(r));
  assert.deepEqual(other, [], 'no request but the page itself');
}

/**
 * At both widths and in both themes; screenshots go to `screenshots`, with the name in front. Pages
 * share their style, so most are seen once in each: `all` adds the other two combinations.
 */
export async function look(browser, url, expected, screenshots, name, { all = false } = {}) {
  const looks = [[1280, 'light'], [400, 'dark']];
  if (all) looks.push([1280, 'dark'], [400, 'light']);
  for (const [width, theme] of looks) {
    const page = await browser.open(url, { width, theme });
    await page.until(chartsDrawn);
    await page.screenshot(path.join(screenshots, `${name}-${width}-${theme}.png`));
    checkLooks(await page.run(survey, width), width, expected);
    await page.run(() => document.querySelectorAll('details').forEach((d) => { d.open = true; }));
    const opened = await page.run(survey, width);
    assert.deepEqual(opened.outside, [], `tables of figures stay in the page at ${width}`);
    assert.ok(opened.scrollWidth <= width, `tables of figures scroll inside at ${width}`);
    assert.deepEqual(await page.run(faintTexts), [], `contrast, ${theme}`);
    checkQuiet(page, url);
    await page.close();
  }
}
