// SPDX-License-Identifier: Apache-2.0
// Puts the figures into the page and redraws them when the reader's theme changes. All text goes
// in as text nodes.
'use strict';

function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

/** Colours and type of the style sheet, as they are now (light or dark). */
function readTheme() {
  const style = getComputedStyle(document.documentElement);
  const get = (name) => style.getPropertyValue(`--${name}`).trim();
  return { text: get('text'), muted: get('muted'), line: get('line'), surface: get('surface'),
    strong: get('strong-line'), font: getComputedStyle(document.body).fontFamily,
    run: shapes.map((_, i) => get(`run-${i}`)) };
}

function chartConfig(theme) {
  return { font: theme.font, aria: false, background: 'transparent',
    view: { stroke: null, continuousHeight: 220 },
    text: { fontSize: 12 },
    axis: { labelColor: theme.muted, titleColor: theme.muted, gridColor: theme.line,
      domainColor: theme.strong, tickColor: theme.strong, labelFontSize: 12, titleFontSize: 12,
      titleFontWeight: 'normal', labelPadding: 5, titlePadding: 10, tickSize: 4 },
    axisY: { domain: false, ticks: false, tickCount: 5, titleAngle: 0, titleAlign: 'left',
      titleAnchor: 'end', titleX: 0, titleY: -12, titleBaseline: 'bottom' },
    axisX: { grid: false, labelOverlap: true, labelSeparation: 6, titleAnchor: 'end',
      tickCount: 8 } };
}

const svgName = 'http://www.w3.org/2000/svg';
function keySwatch(item, theme) {
  const svg = document.createElementNS(svgName, 'svg');
  svg.setAttribute('aria-hidden', 'true');
  svg.setAttribute('width', '28');
  svg.setAttribute('height', '12');
  const isBox = 'box' in item;
  const run = isBox ? item.box : item.line;
  const colour = item.colour ?? (run === null ? theme.text : `var(--run-${lookOf(run).colour})`);
  const mark = document.createElementNS(svgName, isBox ? 'rect' : 'line');
  const geometry = isBox ? { x: 8, y: 1, width: 12, height: 10, rx: 2 }
    : { x1: 1, x2: 27, y1: 6, y2: 6 };
  for (const [name, value] of Object.entries(geometry)) mark.setAttribute(name, value);
  mark.style.stroke = colour;
  mark.style.strokeWidth = isBox ? '1.5' : '2.5';
  if (isBox) {
    mark.style.fill = colour;
    mark.style.fillOpacity = String(item.opacity);
  } else {
    mark.style.strokeDasharray = item.dash.join(' ');
  }
  svg.append(mark);
  return svg;
}
function sign(index) {
  const { colour: number, shape: form } = lookOf(index);
  return element('span', { class: `sign colour-${number} shape-${form}`, 'aria-hidden': 'true' });
}
function keyList(items, theme) {
  return element('ul', { class: 'key' }, ...items.map((item) => element('li', {},
    'sign' in item ? sign(item.sign) : keySwatch(item, theme), item.text)));
}

// The libraries are the script before this one, or a comment.
const hasCharts = typeof vegaEmbed !== 'undefined';

function dataTable({ head, rows }, label) {
  const row = (cells, name, scope) => element('tr', {}, ...cells.map((cell, i) =>
    (i === 0 || scope === 'col' ? element('th', { scope }, cell) : element(name, {}, cell))));
  return element('details', hasCharts ? {} : { open: '' },
    element('summary', {}, 'The figures as a table'),
    element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': label },
      element('table', {}, element('thead', {}, row(head, 'th', 'col')),
        element('tbody', {}, ...rows.map((cells) => row(cells, 'td', 'row'))))));
}

/** The text for a reader who cannot see the chart: its name and the first rows of its table. */
function describe(name, { head, rows }) {
  const told = rows.slice(0, 6).map((cells) => `${cells[0]}: ${cells.slice(1)
    .map((cell, i) => `${head[i + 1]} ${cell}`).join(', ')}`);
  const more = rows.length > told.length ? ` And ${rows.length - told.length} more rows.` : '';
  return `${name}. ${told.join('. ')}.${more}`;
}

/** The text in place of charts, in a weft that was built where npm could not be reached. */
function noCharts() {
  return element('p', { class: 'no-charts' },
    'No chart: this weft was built without its chart libraries. Configure and build it again where '
    + 'npm’s registry can be reached.');
}

function saveButton(title, views) {
  const button = element('button', { type: 'button' }, 'Save as SVG');
  button.addEventListener('click', async () => {
    for (const { name, view } of views) {
      const url = URL.createObjectURL(new Blob([await view.toSVG()], { type: 'image/svg+xml' }));
      const file = `${name.toLowerCase().replace(/[^a-z0-9]+/g, '-')}.svg`;
      element('a', { href: url, download: file }).click();
      URL.revokeObjectURL(url);
    }
  });
  button.setAttribute('aria-label', `Save as SVG: ${title}`);
  return button;
}

async function drawFigure(section, context) {
  const figure = context.builders[section.id](context);
  const box = section.querySelector('.charts');
  box.className = `charts ${figure.layout}`;
  const hosts = figure.charts.map((chart) => {
    // Vega gives its own element a role; a screen reader meets the one around it.
    const host = element('div');
    const image = element('div', { class: 'chart', role: 'img',
      'aria-label': describe(chart.name, figure.table) }, host);
    const head = chart.title && figure.charts.length > 1
      ? [element('h3', {}, sign(chart.sign), chart.title)] : [];
    return { chart, host, panel: element('div', { class: 'panel' }, ...head, image) };
  });
  box.replaceChildren(...(hasCharts ? hosts.map((h) => h.panel) : [noCharts()]));
  section.querySelectorAll('.key, .below').forEach((old) => old.remove());
  if (figure.key?.length > 0) box.before(keyList(figure.key, context.theme));

  const views = [];
  // Without the libraries that draw, the tables say it all.
  for (const { chart, host } of hasCharts ? hosts : []) {
    const { view } = await vegaEmbed(host, chart.spec, { actions: false, ast: true,
      renderer: 'svg', defaultStyle: false, config: chartConfig(context.theme),
      tooltip: { disableDefaultStyle: true } });
    views.push({ name: chart.name, view });
  }
  const title = section.querySelector('h2').firstChild.textContent.trim();
  box.after(element('div', { class: 'below' }, dataTable(figure.table, title),
    ...(hasCharts ? [saveButton(title, views)] : [])));
  return views;
}

let drawn = [];
async function draw(data) {
  drawn.forEach(({ view }) => view.finalize());
  drawn = [];
  document.documentElement.dataset.charts = 'drawing';
  const context = { ...data, theme: readTheme() };
  for (const section of document.querySelectorAll('section.figure')) {
    drawn.push(...await drawFigure(section, context));
  }
  document.documentElement.dataset.charts = 'drawn';
}

function offerCopies() {
  for (const button of document.querySelectorAll('button.copy')) {
    const code = button.parentElement.querySelector('code');
    button.addEventListener('click', async () => {
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = 'Copied';
      } catch {
        // Without permission for the clipboard the command is marked, ready for the keyboard.
        getSelection().selectAllChildren(code);
        button.textContent = 'Marked';
      }
    });
  }
}

/** Draws the page, and again when the reader's theme changes; `data` has the figures' builders. */
function show(data) {
  offerCopies();
  let drawing = draw(data);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    drawing = drawing.then(() => draw(data));
  });
}

{
  const data = JSON.parse(document.getElementById('data').textContent);
  if (data.runs) {
    show({ runs: data.runs.map((run, index) => ({ ...run, index, label: data.labels[index] })),
      fillIsSample: data.fill_is_sample,
      builders: { spread: spreadFigure, goodput: goodputFigure, progress: progressFigure,
        intervals: intervalsFigure, fill: fillFigure, round: roundFigure, sender: senderFigure,
        aggregate: aggregateFigure } });
  }
}
