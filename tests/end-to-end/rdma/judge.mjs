// SPDX-License-Identifier: Apache-2.0
// Judges the guest's output (guest_init.sh): order, counts and scales, never microseconds.
//   node judge.mjs CONSOLE_LOG
import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';

const log = readFileSync(process.argv[2], 'latin1').replace(/\r/g, '');
const results = new Map();
for (const [, name, code, text] of log.matchAll(/^RESULT (\S+) (\d+)\n([\s\S]*?)^END \1$/gm)) {
  results.set(name, { code: Number(code), text });
}

let failed = 0;
/** One judgement of one result; `check` gets its exit code, text and JSON. */
function judge(name, expected, check) {
  const result = results.get(name);
  try {
    assert.ok(result, 'the guest did not come so far');
    assert.equal(result.code, expected, 'exit code');
    check({ ...result, get json() { return JSON.parse(result.text); } });
    console.log(`good   ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`failed ${name}: ${error.message}\n${result?.text ?? ''}`);
  }
}

const allWell = (json) => {
  assert.equal(json.failed, 0);
  assert.equal(json.timeouts, 0);
  assert.ok(json.execution_us > 0);
  assert.equal(json.device, 'rxe_a');
};

judge('kernel', 0, ({ text }) => console.log(`kernel ${text.trim()}`));
const figures = (text) => Object.fromEntries([...text.matchAll(/^(\w+_ns) (\d+)$/gm)]
  .map(([, name, value]) => [name, Number(value)]));
for (const how of ['poll', 'sleep']) {
  let native;
  judge(`verbs_native_${how}`, 0, ({ text }) => { native = figures(text); });
  judge(`verbs_emulated_${how}`, 0, ({ text }) => {
    const emulated = figures(text);
    console.log(`${how}: one way ${native.one_way_ns} ns, behind 40 ms more ${emulated.one_way_ns} ns`);
    assert.ok(emulated.one_way_ns >= 40_000_000, 'no message arrives before its latency');
    assert.ok(emulated.read_ns >= 80_000_000, 'a read travels there and back');
  });
  judge(`verbs_json_${how}`, 0, ({ json }) => {
    assert.equal(json.interposer, 'verbs');
    assert.equal(json.ranks_interposed, 2);
    // Twenty messages each way, the last one, and a read.
    assert.equal(json.operations, 42);
    assert.equal(json.bytes, 42 * 8);
  });
}

judge('no_device', 3, ({ text }) => {
  assert.match(text, /^weft: there is no RDMA device here: .*rdma link add.*\n$/);
});
judge('pinned', 0, ({ json }) => {
  allWell(json);
  assert.equal(json.client_memory, 'pinned');
  assert.equal(json.server_memory, 'pinned');
  // A request and a response of an MTU at least for each of 64 READs of 4,096 bytes.
  assert.ok(json.packets >= 128, `${json.packets} packets`);
});
judge('paged', 0, ({ json }) => {
  allWell(json);
  assert.equal(json.client_memory, 'paged');
  assert.equal(json.server_memory, 'paged');
});
judge('client_paged', 0, ({ json }) => {
  allWell(json);
  assert.equal(json.client_memory, 'paged');
  assert.equal(json.server_memory, 'pinned');
});
judge('prefetched', 0, ({ json }) => {
  allWell(json);
  assert.match(json.client_memory, /^paged/);
  assert.equal(json.client_memory, json.server_memory);
});
judge('many', 0, ({ json }) => {
  allWell(json);
  assert.ok(json.packets >= 1024, `${json.packets} packets`);
});
judge('text', 0, ({ text }) => {
  assert.match(text, /^2 READs of 100 B over 1 queue pairs, rxe_a\nclient       paged\n/);
});
judge('timeouts', 0, ({ json }) => {
  assert.deepEqual(json.timeouts.map((point) => point.ack_timeout), [12, 13, 14, 15, 16]);
  for (const point of json.timeouts) {
    assert.equal(point.nominal_us, 4.096 * 2 ** point.ack_timeout);
    // rxe waits for the time that it is given, in whole ticks of the kernel's clock.
    assert.ok(point.timeout_us >= 0.7 * point.nominal_us, JSON.stringify(point));
    assert.ok(Math.abs(point.total_us / (json.retries + 1) - point.timeout_us) < 1);
  }
  const ratio = json.timeouts[4].timeout_us / json.timeouts[1].timeout_us;
  assert.ok(ratio > 3 && ratio < 16, `8 times expected, ${ratio}`);
});
// Ended by SIGTERM.
judge('server', 143, ({ text }) => {
  assert.match(text, /^rxe_b listens on port 7471\n/);
  assert.match(text, /^10\.0\.0\.1: refused: that is not `weft odp bench`/m);
  assert.match(text, /4 queue pairs, 262144 bytes pinned\n/);
  assert.match(text, /4 queue pairs, 262144 bytes paged\n/);
  assert.match(text, /which answer nothing\n/);
});
judge('no_server', 1, ({ text }) => {
  assert.match(text, /^weft: 10\.0\.0\.2:7471: .*start `weft odp bench --listen 7471` there/);
});
judge('diagnose_pass', 1, ({ json }) => {
  // Requests to the silent queue pair are all that went unanswered.
  assert.deepEqual(new Set(json.findings.map((f) => f.class)), new Set(['loss']));
  assert.equal(json.wrong_icrcs, 0);
});
judge('damming', 0, ({ json }) => {
  assert.equal(json.failed, 0);
  assert.equal(json.rnr_naks, 1);
  assert.equal(json.sequence_naks, 0);
  assert.ok(json.timeouts >= 1);
  assert.equal(json.damming, true);
  // Code 17: 537 ms nominally.
  assert.ok(json.execution_us > 300_000, `${json.execution_us} us`);
});
judge('diagnose_damming', 1, ({ json }) => {
  assert.deepEqual(json.findings.map((f) => f.class), ['damming']);
  assert.ok(json.findings[0].lost_us > 300_000);
  assert.equal(json.wrong_icrcs, 0);
});
judge('rescued', 0, ({ json }) => {
  assert.equal(json.failed, 0);
  assert.equal(json.rnr_naks, 1);
  // No word of its sequence NAK: rxe counts one only when that acknowledges something as well.
  // Code 20 is 4.3 s: the third READ ended the wait, not the timeout.
  assert.ok(json.execution_us < 4_000_000, `${json.execution_us} us`);
});
judge('diagnose_rescued', 1, ({ json }) => {
  assert.deepEqual(json.findings.map((f) => f.class), ['damming-rescued']);
});
judge('end', 0, () => {});
for (const line of log.match(/^FAILED .*$/gm) ?? []) {
  failed += 1;
  console.log(line);
}
process.exit(failed === 0 ? 0 : 1);
