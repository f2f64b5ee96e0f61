// SPDX-License-Identifier: Apache-2.0
// Joins the chart libraries into the one script that every report carries, licences included:
//   node bundle.mjs NODE_MODULES OUTPUT
import fs from 'node:fs';
import path from 'node:path';

const [modules, output] = process.argv.slice(2);
const bundle = ['vega', 'vega-lite', 'vega-embed'].map((name) => {
  const folder = path.join(modules, name);
  const { version } = JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'));
  const licence = fs.readFileSync(path.join(folder, 'LICENSE'), 'utf8').trim();
  // A source map would be asked for from beside the report, where there is none.
  const script = fs
    .readFileSync(path.join(folder, 'build', `${name}.min.js`), 'utf8')
    .replace(/^\/\/# sourceMappingURL=.*$/gm, '')
    .trim();
  for (const text of [licence, script]) {
    if (/<\/script|<!--/i.test(text)) throw new Error(`${name} cannot stand in a script element`);
  }
  if (licence.includes('*/')) throw new Error(`${name}: its licence cannot stand in a comment`);
  return `/*! ${name} ${version}\n\n${licence}\n*/\n${script}\n`;
});
fs.writeFileSync(output, bundle.join(''));
