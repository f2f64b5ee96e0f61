// SPDX-License-Identifier: Apache-2.0
// Runs the commands that README, the pages in docs and `--help` show, as they stand there, in order:
//   node examples_test.mjs PAGE SOURCE BUILD SCRATCH [PAGES…]
// PAGE is a Markdown file of SOURCE, "help COMMAND…" for the examples of `weft COMMAND… --help`, or
// "list" to check that PAGES are all pages, without running a command. Each page has a directory of its
// own that looks like a clean clone after ./run. A simulation prints what the page shows below it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { elsewhere, exitCodes, fixtures, shorten, skips } from './examples.mjs';

const [page, source, build, scratch, ...pages] = process.argv.slice(2);
const limit = 300_000;  // ms for one command; reached only by one that hangs

/** Programs that the pages call. A line of a block that begins with anything else is no command. */
const programs = ['weft', 'cmake', 'mkdir', 'sed', 'mpicc.mpich', 'mpirun', 'mpirun.mpich', 'for rank in', 'srun',
  'ctest', 'find', './run', './test', 'bench/', 'scripts/', '(umask'];
function isCommand(line) {
  const words = line.replace(/^([A-Z_]+=\S+ )+/, '');
  return words !== line || programs.some((p) => words.startsWith(p.endsWith('/') ? p : `${p} `)
    || words === p);
}

/** Commands of a Markdown page: its indented blocks and those between ``` without a language. */
function commandsOf(markdown) {
  const lines = [];
  let fence = '';
  for (const line of markdown.split('\n')) {
    if (line.startsWith('```')) fence = fence ? '' : line;
    else if (fence === '```') lines.push(line);
    else if (!fence && /^ {4}\s*\S/.test(line)) lines.push(line.slice(4));
    else lines.push('');
  }
  return joined(lines).filter(isCommand);
}

/** The examples at the end of what `weft COMMAND --help` prints. */
function examplesOf(help) {
  const from = help.search(/^Examples?:$/m);
  assert.ok(from >= 0, `no examples in:\n${help}`);
  return joined(help.slice(from).split('\n').slice(1)
    .filter((line) => /^ {2}\S/.test(line)).map((line) => line.slice(2)));
}

/** Lines that end with a backslash go on in the next. */
function joined(lines) {
  const whole = [];
  let open = '';
  for (const line of lines) {
    open += open ? ` ${line.trim()}` : line;
    if (open.endsWith('\\')) {
      open = open.slice(0, -1).trimEnd();
    } else {
      whole.push(open);
      open = '';
    }
  }
  return whole;
}

const environment = (home) => ({ ...process.env, HOME: home, TMPDIR: process.env.TMPDIR ?? '/tmp',
  PATH: `${path.resolve(build)}:${process.env.PATH}`, XDG_CONFIG_HOME: '' });

function run(command, directory) {
  const began = Date.now();
  const result = spawnSync('bash', ['-c', command], { cwd: directory, encoding: 'utf8',
    env: environment(path.join(directory, 'home')), timeout: limit, killSignal: 'SIGKILL',
    maxBuffer: 1 << 28 });
  return { ...result, seconds: ((Date.now() - began) / 1000).toFixed(1) };
}

function cloneAfterRun(name) {
  const directory = path.resolve(scratch, name.replace(/[^A-Za-z0-9]+/g, '-'));
  fs.rmSync(directory, { recursive: true, force: true });
  fs.mkdirSync(path.join(directory, 'build'), { recursive: true });
  fs.mkdirSync(path.join(directory, 'home'));
  fs.symlinkSync(path.resolve(build), path.join(directory, 'build/release'));
  for (const entry of ['examples', 'scripts', 'docs', 'bench', 'include']) {
    fs.symlinkSync(path.resolve(source, entry), path.join(directory, entry));
  }
  return directory;
}

const helpOf = (words) => {
  const said = spawnSync(path.join(build, 'weft'), [...words, '--help'], { encoding: 'utf8' });
  assert.equal(said.status, 0, said.stderr);
  return said.stdout;
};
const commandsOn = (name) => (name === 'help' || name.startsWith('help ')
  ? examplesOf(helpOf(name.split(' ').slice(1)))
  : commandsOf(fs.readFileSync(path.join(source, name), 'utf8')));

/** What a page shows below a command of a simulation. Its figures repeat themselves. */
const shownOutputs = (name) => new Map(name.endsWith('.md')
  ? [...fs.readFileSync(path.join(source, name), 'utf8')
    .matchAll(/^ {4}(weft .*sim:.*)\n\n```text\n([\s\S]*?)^```$/gm)].map(([, ...both]) => both)
  : []);

const hasTestbed = (directory) =>
  run('weft testbed run --hosts 2 -- true', directory).status === 0;

function runPage() {
  const directory = cloneAfterRun(page);
  for (const command of fixtures[page] ?? []) {
    const made = run(command, directory);
    assert.equal(made.status, 0, `${command}\n${made.stderr}`);
  }
  let testbed;
  let ran = 0;
  const failures = [];
  const outputs = shownOutputs(page);
  for (const command of commandsOn(page)) {
    const other = elsewhere.find((e) => e.page === page && e.like.test(command));
    const skip = other ? { why: `run on ${other.on}` }
      : skips.find(({ like }) => like.test(command));
    const needsTestbed = /testbed/.test(command) && !skip;
    if (needsTestbed) testbed ??= hasTestbed(directory);
    if (skip || (needsTestbed && !testbed)) {
      console.log(`skipped: ${command}\n         ${skip?.why ?? 'no network namespaces here'}`);
      continue;
    }
    const short = shorten(command);
    const done = run(short, directory);
    const isShown = short !== command || done.stdout === (outputs.get(command) ?? done.stdout);
    const isRight = isShown
      && done.status === (exitCodes.find(({ like }) => like.test(command))?.code ?? 0);
    console.log(`${isRight ? 'ran' : 'FAILED'} (${done.seconds} s): ${short}`);
    ran += 1;
    if (isRight) continue;
    const why = isShown ? '' : `${page} shows another output than this:\n`;
    failures.push(`${short}\n${why}${done.stdout}${done.stderr}${done.error ?? ''}`);
  }
  fs.rmSync(directory, { recursive: true, force: true });
  for (const failure of failures) console.log(`\nFAILED: ${failure}`);
  console.log(`${ran - failures.length} of ${ran} commands of ${page} work`);
  process.exitCode = failures.length > 0 ? 1 : 0;
}

/** A program that the README shows is one of the examples, which the build compiles. */
function checkPrograms() {
  const readme = fs.readFileSync(path.join(source, 'README.md'), 'utf8');
  const shown = [...readme.matchAll(/\(examples\/(\w+\.cpp)\)[\s\S]*?```cpp\n([\s\S]*?)```/g)];
  assert.ok(shown.length > 0, 'README.md shows no program of examples');
  for (const [, file, text] of shown) {
    const program = fs.readFileSync(path.join(source, 'examples', file), 'utf8');
    assert.ok(program.includes(text), `README.md does not show what is in examples/${file}`);
  }
}

/** All pages are run, and no entry of `skips` is about a command that is gone. */
function checkLists() {
  for (const name of fs.readdirSync(path.join(source, 'docs'))) {
    if (name.endsWith('.md')) assert.ok(pages.includes(`docs/${name}`), `docs/${name} is not run`);
  }
  const { stdout } = spawnSync(path.join(build, 'weft'), ['--help'], { encoding: 'utf8' });
  for (const [, command] of stdout.matchAll(/^ {2}([a-z]+) {2,}\S/gm)) {
    // `weft help` prints the same as `--help`.
    if (command === 'help' || !/^Examples?:$/m.test(helpOf([command]))) continue;
    assert.ok(pages.some((p) => `${p} `.startsWith(`help ${command} `)),
      `the examples of weft ${command} --help are not run`);
  }
  for (const { page: of, like, on } of elsewhere) {
    for (const place of [of, on]) {
      assert.ok(commandsOn(place).some((command) => like.test(command)), `${place} lacks ${like}`);
    }
  }
  const all = pages.flatMap(commandsOn);
  assert.ok(all.length > 50, `only ${all.length} commands were found`);
  for (const { like } of skips) {
    assert.ok(all.some((command) => like.test(command)), `no command is like ${like}: remove it`);
  }
}

if (page === 'list') {
  checkLists();
  checkPrograms();
} else {
  runPage();
}
