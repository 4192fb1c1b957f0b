/**
 * `npm run test:cluster`: three nodes of Restate and three servers, whose processes are killed (-9) at random while clients
 * post messages and people answer. Compares the answers to clients with what the tools have done. 20 seconds, or with
 * `--long` 3 minutes and at least 40 kills.
 *
 * The servers are `sandgate serve` of the package that `npm run build` has built.
 *
 * `--postgres` has the servers share one server of PostgreSQL, which is killed, too, in place of Restate. It needs Debian's
 * postgresql-15.
 *
 * `--control` puts the same load on one server without Restate, which stores its sessions in a file: what breaks there is
 * counted, and is no failure. `--no-kills` kills nothing, `--servers=COUNT` and `--nodes=COUNT` choose a
 * cluster, `--rate=CALLS` how many calls a second are posted, `--seconds=SECONDS` for how long, and `--seed=NUMBER` what happens.
 *
 * `--points` kills a server at each step of a message, one after the other, for each kind of tools: about 20 minutes.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { NO_POSTGRES } from "../test/record/postgres-server.ts";
import { startCluster } from "../test/restate/cluster/cluster.ts";
import { runCluster } from "../test/restate/cluster/run.ts";
import { killAtEachPoint } from "../test/restate/kill-points/each-point.ts";

const LEAST_KILLS = 40;
const MAIN = join(import.meta.dirname, "../dist/cli/main.js");

const { values: options } = parseArgs({
  options: {
    long: { type: "boolean" },
    control: { type: "boolean" },
    postgres: { type: "boolean" },
    "no-kills": { type: "boolean" },
    servers: { type: "string" },
    nodes: { type: "string" },
    rate: { type: "string" },
    seconds: { type: "string" },
    seed: { type: "string" },
    points: { type: "boolean" },
  },
});
if (options.points === true) {
  const wrong = await killAtEachPoint((line) => console.log(line));
  console.log(`went wrong ${wrong}`);
  process.exit(wrong > 0 ? 1 : 0);
}
const isLong = options.long === true;
const isControl = options.control === true;
const isPostgres = options.postgres === true;
const seed = Number(options.seed ?? "1");
const rate = Number(options.rate ?? "50");
const seconds = Number(options.seconds ?? (isLong ? 180 : 20));
const servers = Number(options.servers ?? (isControl ? 1 : 3));
const nodes = Number(options.nodes ?? (isControl || isPostgres ? 0 : 3));

if (isPostgres && NO_POSTGRES !== undefined) process.exit(0);
if (!existsSync(MAIN)) throw new Error("there is no dist/cli/main.js: run `npm run build` first");
await using cluster = await startCluster({ nodes, postgres: isPostgres, servers, main: MAIN });
const run = await runCluster({
  cluster,
  seed,
  rate,
  durationMs: seconds * 1_000,
  kills: options["no-kills"] !== true,
});
const { counts, kills } = run;
const faults = [...run.faults];
const { node: nodeMs, server: serverMs } = kills.restartsMs;
const killed = nodeMs.length + serverMs.length;
if (isLong && !isControl && killed < LEAST_KILLS) faults.push(`only ${killed} processes were killed`);

const what = isPostgres
  ? `PostgreSQL, ${servers} servers`
  : isControl
    ? "1 server without Restate"
    : `${nodes} nodes, ${servers} servers`;
console.log(`${what}, seed ${seed}, ${run.seconds.toFixed(0)} s:`);
console.log(
  `  ${counts.calls} calls, ${run.callsPerSecond.toFixed(1)} calls/s, ${run.retries} requests sent again`,
);
console.log(`  killed (-9): ${nodeMs.length} nodes, ${serverMs.length} servers`);
if (killed === 0) {
  const perCall = (cpu: number): string => `${((cpu * 1_000) / counts.calls).toFixed(1)} ms`;
  console.log(`  CPU for a call: nodes ${perCall(run.cpu.nodes)}, servers ${perCall(run.cpu.servers)}`);
} else {
  console.log(`  from a kill to the result of a call sent then: ${quantiles(kills.probesMs)}`);
  console.log(
    `  from a kill until a node serves again: ${quantiles(nodeMs)}; a server: ${quantiles(serverMs)}`,
  );
}
console.log(
  `  interrupted: ${counts.unknown} unknown (${counts.unknownWithEffect} had their effect), ${counts.repeated} run again under their key`,
);
console.log(`  programs: ${counts.programs}`);
console.log(`  confirmations: ${counts.confirmations}, with ${counts.answers} answers`);
console.log(`  other failures: ${JSON.stringify(counts.failed)}`);
if (run.problem !== undefined) console.log(`  last refusal: ${run.problem}`);
for (const fault of faults.slice(0, 10)) console.log(`  ${fault}`);
for (const each of run.waiting.slice(0, 50)) console.log(`  waiting: ${each.slice(0, 500)}`);
console.log(
  `lost ${counts.lost}, doubled ${counts.doubled}, unknown ${counts.unknown}, kills ${killed}, went wrong ${faults.length}`,
);
process.exitCode = faults.length > 0 && !isControl ? 1 : 0;

function quantiles(values: readonly number[]): string {
  const sorted = values.toSorted((one, other) => one - other);
  const at = (part: number): string => {
    const value = sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? 0;
    return `${(value / 1_000).toFixed(2)} s`;
  };
  return `p50 ${at(0.5)}, p99 ${at(0.99)}`;
}
