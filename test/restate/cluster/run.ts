import { Approvers } from "./approvers.ts";
import { type Checked, check } from "./check.ts";
import { Client } from "./client.ts";
import type { Cluster } from "./cluster.ts";
import { cpuSeconds } from "./cpu.ts";
import { readEffects } from "./effects.ts";
import { type Kills, killAtRandom } from "./killer.ts";
import { Load } from "./load.ts";
import { randomOf } from "./random.ts";

/** The options of {@link runCluster}. */
export interface ClusterRunOptions {
  readonly cluster: Cluster;
  readonly seed: number;
  /** Calls a second. */
  readonly rate: number;
  readonly durationMs: number;
  /** Whether processes are killed. */
  readonly kills: boolean;
}

/** What came of a run. */
export interface ClusterRun extends Checked {
  readonly kills: Kills;
  /** Results a second, while calls were posted. */
  readonly callsPerSecond: number;
  /** How often clients sent a request again. */
  readonly retries: number;
  /** What clients waited for in vain, and what Restate had not ended then. */
  readonly waiting: readonly string[];
  /** What a server said last why it refused a request. */
  readonly problem: string | undefined;
  readonly seconds: number;
  /** For how many seconds the nodes and the servers that are there at the end used a CPU. */
  readonly cpu: { readonly nodes: number; readonly servers: number };
}

const SETTLE_MS = 60_000;
const READERS = 32;
const NO_KILLS: Kills = { restartsMs: { node: [], server: [] }, probesMs: [] };

/** Runs a load on a cluster whose processes are killed, and checks all promises at the end. */
export async function runCluster(options: ClusterRunOptions): Promise<ClusterRun> {
  const { cluster, seed, rate, durationMs } = options;
  const random = randomOf(seed);
  const urls = cluster.servers.map(({ url }) => url);
  const client = new Client(urls, randomOf(seed + 1));
  const load = new Load({ client, random, rate, prefix: "" });
  const approvers = new Approvers(client, randomOf(seed + 2));
  const begun = performance.now();
  const cpuOf = (): { nodes: number; servers: number } => ({
    nodes: cpuSeconds(cluster.nodes.map(({ pid }) => pid)),
    servers: cpuSeconds(cluster.servers.map(({ pid }) => pid)),
  });
  const before = cpuOf();
  const posting = load.run();
  const until = begun + durationMs;
  let probes = 0;
  const probe = async (): Promise<number> => {
    const at = performance.now();
    const number = probes++;
    const name = { name: `probe${number}/c` };
    await client.message({
      sessionId: `probe-${number}`,
      principal: "p0",
      messageId: `probe${number}`,
      calls: [{ id: "c", name: "read", arguments: name }],
    });
    return performance.now() - at;
  };
  const kills = options.kills
    ? await killAtRandom({
        random: randomOf(seed + 3),
        until,
        probe,
        victims: [...cluster.nodes, ...cluster.servers],
      })
    : await wait(until);
  load.end();
  await posting;
  const seconds = (performance.now() - begun) / 1_000;
  const callsPerSecond = load.endedCalls / seconds;
  await load.settle(SETTLE_MS);
  const waiting = load.underWay === 0 ? [] : [...client.waiting, ...(await openInvocations(cluster.nodes))];
  await approvers.close();
  const after = cpuOf();
  const cpu = { nodes: after.nodes - before.nodes, servers: after.servers - before.servers };
  await load.readAgain(READERS);
  const { retries, problem } = client;
  await client.close();
  const effects = readEffects(cluster.effects).filter(({ name }) => !name.startsWith("probe"));
  return {
    ...check({ messages: load.messages, effects, told: approvers.told }),
    kills,
    callsPerSecond,
    retries,
    seconds,
    waiting,
    problem,
    cpu,
  };
}

/** What Restate has begun and not ended. */
async function openInvocations(nodes: Cluster["nodes"]): Promise<readonly string[]> {
  const [node] = nodes;
  if (node === undefined || node.admin === "") return [];
  const query =
    "SELECT target, status, retry_count, last_failure, modified_at FROM sys_invocation WHERE status != 'completed'";
  const response = await fetch(`${node.admin}/query`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({ query }),
  });
  const { rows } = (await response.json()) as { readonly rows: readonly unknown[] };
  return rows.map((row) => JSON.stringify(row));
}

async function wait(until: number): Promise<Kills> {
  await new Promise((resolve) => setTimeout(resolve, until - performance.now()));
  return NO_KILLS;
}
