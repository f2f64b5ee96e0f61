// SPDX-License-Identifier: Apache-2.0
// Facts about the commands that the documentation shows.

/** Commands that are not run, and why. All others are. */
export const skips = [
  { like: /^\.\/(run|test)\b/, why: 'builds or tests everything; this is one of those tests' },
  { like: /^(ctest|cmake --preset)\b/, why: 'builds or tests everything' },
  { like: /^scripts\/fuzz\.sh|^bench\//, why: 'takes minutes, and needs another build' },
  { like: /…|SCENARIO|\bDIR\b/, why: 'stands for several commands' },
  { like: /^weft calibrate/, why: 'measures for half a minute what an idle machine does' },
  { like: /^srun\b/, why: 'needs a cluster with Slurm; slurm_test.sh has one' },
  { like: /^weft sweep --resume \S+ --merge/, why: 'needs the runs of several tasks; sweep_test has some' },
  { like: /--hosts hosts\.txt/, why: 'needs several machines; launch/hosts has them' },
  { like: /cluster\.toml|job\.conf/, why: 'one process of several; cluster_processes_test starts them all' },
  { like: /my_analysis|my_monitor|shm:demo/, why: 'a program of the reader; tests/end-to-end/shm has some' },
  { like: /another-program|\.\/my/, why: 'a program of the reader' },
  { like: /\| jq\b|xdg-open/, why: 'needs programs that weft does not' },
  { like: /\.msa\b/, why: 'needs an archive of microslices; archive_test has some' },
  { like: /WEFT_FABRIC=mpi/, why: 'needs an MPI; fabric_mpi_test has two' },
  { like: /^(tcpdump|ibdump)\b/, why: 'needs an RDMA adapter, and root' },
  { like: /diagnose --live/, why: 'needs an RDMA adapter; simulate_test has a stand-in' },
  { like: /^weft odp bench/, why: 'needs an RDMA adapter; tests/end-to-end/rdma has software ones' },
  { like: /--duration 250ms/, why: 'a quarter of a second of 128 simulated nodes takes minutes' },
  { like: /^mpirun .*(swarm|fat-tree:16384)|--parts 2/, why: 'takes minutes' },
];

/** Commands whose exit code tells what they found. All others end with 0. */
export const exitCodes = [
  { like: /^weft odp diagnose stream\.pcap/, code: 1 },
];

/** Files and programs that a page needs and its reader has. */
const make = 'weft stream local --no-limit --timeslices 12000 --inputs 1 --computes 2 '
  + "--source 'pattern:?size=64' --sink 'tsa:run_%n.tsa'";
const archives = [make, 'cp run_0.tsa run.tsa', 'mkdir raw'];
export const fixtures = {
  help: archives,
  'help archive info': archives,
  'help archive check': archives,
  'help archive cut': archives,
  'help archive merge': [make, 'mv run_0.tsa node_0.tsa', 'mv run_1.tsa node_1.tsa'],
};

/** Real streams last two seconds, five with a fault at some time, and so does one that says nothing. */
function shortenStream(command) {
  if (!/^weft stream (local|compare|limit)\b/.test(command) || command.includes('sim:')) return command;
  const seconds = command.includes('at=') ? 5 : 2;
  const ends = /--(duration|timeslices) /.test(command) || command.startsWith('weft stream limit');
  const added = (ends ? '' : ` --duration ${seconds}s`)
    + (/--(limit-duration|no-limit)/.test(command) ? '' : ' --limit-duration 200ms');
  return command
    .replace(/^weft stream \w+/, (words) => words + added)
    .replace(/--duration (\d+)(s|min)/g, (all, n, unit) =>
      (unit === 'min' || Number(n) > seconds ? `--duration ${seconds}s` : all));
}

/** Two windows of a few milliseconds on one placement; of real processes, long enough for an iteration. */
function shortenExperiment(command) {
  if (!/^(mpirun -n \d+ )?weft qos /.test(command)) return command;
  if (command.includes('--live')) {
    return `${command} --iterations 2 --set qos.period=60ms --set qos.live-windows=1`;
  }
  return `${command.replace(/ --(iterations|placements) \d+/g, '')}`
    + ' --iterations 2 --placements 1 --set qos.period=2ms';
}

/** The same command, sooner done: short streams and experiments, few seeds, few simulated processes. */
export function shorten(command) {
  return shortenExperiment(shortenStream(command))
    .replace(/--seeds 1\.\.\d{3,}/g, '--seeds 1..20')
    .replace(/-n 1000\b/g, '-n 100')
    .replace(/^mpirun /, 'mpirun --oversubscribe --allow-run-as-root ');
}

/** Run on another page in the same way. */
export const elsewhere = [
  { page: 'help stream compare', like: /aries-128\.toml --out/, on: 'README.md' },
  { page: 'docs/simulator.md', like: /aries-128\.toml --out/, on: 'README.md' },
];
