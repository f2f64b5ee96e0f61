// SPDX-License-Identifier: Apache-2.0
// A headless Chromium driven over the DevTools protocol's pipe: nothing but Node is needed.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync',
  '--disable-extensions', '--disable-dev-shm-usage', '--hide-scrollbars',
  '--host-resolver-rules=MAP * ~NOTFOUND', '--remote-debugging-pipe'];

// A call without an answer by then will not get one. Less than ctest's patience, so that it is the
// call that is named and not the test.
const patience = 100_000;

export class Browser {
  /** `profile` is a directory that does not exist yet; `close` removes it. */
  static async start(program, profile) {
    fs.mkdirSync(profile, { recursive: true });
    const browser = new Browser();
    browser.profile = profile;
    browser.process = spawn(program, [...flags, `--user-data-dir=${path.resolve(profile)}`,
      'about:blank'], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
    browser.ended = new Promise((resolve) => {
      browser.process.on('exit', resolve);
      browser.process.on('error', resolve);
    });
    browser.calls = new Map();
    browser.listeners = [];
    browser.next = 0;
    browser.ended.then((reason) => {
      for (const id of [...browser.calls.keys()]) {
        browser.receive({ id, error: { message: `${program} ended: ${reason}` } });
      }
    });
    let rest = '';
    browser.process.stdio[4].setEncoding('utf8').on('data', (text) => {
      const messages = (rest + text).split('\0');
      rest = messages.pop();
      messages.forEach((message) => browser.receive(JSON.parse(message)));
    });
    browser.process.stdio[3].on('error', () => {});
    return browser;
  }

  receive(message) {
    if (message.id === undefined) {
      this.listeners.forEach((listener) => listener(message));
      return;
    }
    const call = this.calls.get(message.id);
    if (!call) return;  // answered after all, too late
    clearTimeout(call.overdue);
    this.calls.delete(message.id);
    if (message.error) call.reject(new Error(`${call.method}: ${message.error.message}`));
    else call.resolve(message.result);
  }

  send(method, params = {}, sessionId = undefined) {
    const id = ++this.next;
    return new Promise((resolve, reject) => {
      const message = `no answer within ${patience / 1000} s to ${JSON.stringify(params)}`;
      const overdue = setTimeout(() => this.receive({ id, error: { message } }), patience);
      this.calls.set(id, { resolve, reject, method, overdue });
      this.process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
  }

  /** A new page of the given size and theme, with what went wrong in it in `problems`. */
  async open(url, { width, height = 900, theme = 'light' }) {
    const { targetId } = await this.send('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
    const page = new Page(this, targetId, sessionId);
    this.listeners.push((message) => message.sessionId === sessionId && page.watch(message));
    for (const domain of ['Page', 'Runtime', 'Network', 'Log']) await page.send(`${domain}.enable`);
    await page.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1,
      mobile: width < 600 });
    await page.theme(theme);
    const loaded = new Promise((resolve) => { page.onLoad = resolve; });
    await page.send('Page.navigate', { url });
    await loaded;
    return page;
  }

  async close() {
    this.send('Browser.close').catch(() => {});
    const unwilling = setTimeout(() => this.process.kill('SIGKILL'), 10_000);
    await this.ended;
    clearTimeout(unwilling);
    fs.rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

class Page {
  constructor(browser, targetId, sessionId) {
    Object.assign(this, { browser, targetId, sessionId, problems: [], requests: [] });
  }
  send(method, params) { return this.browser.send(method, params, this.sessionId); }
  theme(value) {
    return this.send('Emulation.setEmulatedMedia',
      { features: [{ name: 'prefers-color-scheme', value }] });
  }

  watch({ method, params }) {
    if (method === 'Page.loadEventFired') this.onLoad();
    if (method === 'Network.requestWillBeSent') this.requests.push(params.request.url);
    if (method === 'Runtime.exceptionThrown') {
      const { text, exception } = params.exceptionDetails;
      this.problems.push(`exception: ${exception?.description ?? text}`);
    }
    const loud = ['error', 'warning', 'assert'];
    if (method === 'Runtime.consoleAPICalled' && loud.includes(params.type)) {
      this.problems.push(`console: ${params.args.map((a) => a.value ?? a.description).join(' ')}`);
    }
    if (method === 'Log.entryAdded' && ['error', 'warning'].includes(params.entry.level)) {
      this.problems.push(`log: ${params.entry.text}`);
    }
  }

  /** Runs a function in the page; its arguments and its result travel as JSON. */
  async run(what, ...args) {
    const { result, exceptionDetails } = await this.send('Runtime.evaluate', {
      expression: `(${what})(...${JSON.stringify(args)})`, awaitPromise: true,
      returnByValue: true });
    if (exceptionDetails) {
      throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    }
    return result.value;
  }

  /**
   * What `what` returns in the page once that is something: now, or after a change of the document.
   * It looks before it waits, as what is waited for may have happened meanwhile.
   */
  until(what, ...args) {
    return this.run(`(...given) => new Promise((resolve) => {
      const look = () => { const seen = (${what})(...given); if (seen) resolve(seen); };
      new MutationObserver(look).observe(document,
        { subtree: true, childList: true, attributes: true });
      look();
    })`, ...args);
  }

  async screenshot(file) {
    const { cssContentSize } = await this.send('Page.getLayoutMetrics');
    const { data } = await this.send('Page.captureScreenshot', { format: 'png',
      captureBeyondViewport: true, clip: { x: 0, y: 0, width: cssContentSize.width,
        height: cssContentSize.height, scale: 1 } });
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, Buffer.from(data, 'base64'));
  }
  close() { return this.browser.send('Target.closeTarget', { targetId: this.targetId }); }
}
