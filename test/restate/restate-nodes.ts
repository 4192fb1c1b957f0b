import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePorts } from "./free-ports.ts";

/** One process of Restate, which can be killed and started again with what it has stored. */
export interface RestateNode {
  readonly ingress: string;
  readonly admin: string;
  /** Where the node says how much it has done, in the text format of Prometheus. */
  readonly metrics: string;
  readonly pid: number;
  /** Ends the process with SIGKILL. */
  kill(): Promise<void>;
  /** Starts the process again, and waits until it is healthy. */
  start(): Promise<void>;
}

/** Nodes of Restate on this machine, in a folder of their own. */
export interface RestateNodes extends AsyncDisposable {
  readonly nodes: readonly RestateNode[];
}

/** How long a node may take to become healthy, in ms. */
const HEALTHY_WITHIN_MS = 60_000;

/**
 * Starts a cluster of Restate, and waits until all nodes are healthy. Several nodes replicate everything twice.
 *
 * @param count How many nodes. Default: 1, which replicates nothing.
 * @param options.within Where their folder is. Default: that of temporary files.
 */
export async function startRestate(
  count = 1,
  { within = tmpdir() }: { readonly within?: string } = {},
): Promise<RestateNodes> {
  const folder = mkdtempSync(join(within, "sandgate-restate-"));
  const ports = await freePorts(count * 3);
  const places = Array.from({ length: count }, (_, index) => ({
    name: `n${index + 1}`,
    fabric: ports[3 * index] as number,
    admin: ports[3 * index + 1] as number,
    ingress: ports[3 * index + 2] as number,
  }));
  const nodes = places.map((place, index) => {
    const file = join(folder, `${place.name}.toml`);
    writeFileSync(
      file,
      configOf(place, { folder, count, fabrics: places.map(({ fabric }) => fabric), index }),
    );
    return new Node(file, join(folder, `${place.name}.log`), place);
  });
  const dispose = async (): Promise<void> => {
    await Promise.all(nodes.map((node) => node.kill()));
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await Promise.all(nodes.map((node) => node.start()));
  } catch (error) {
    await dispose();
    throw error;
  }
  return { nodes, [Symbol.asyncDispose]: dispose };
}

interface Place {
  readonly name: string;
  readonly fabric: number;
  readonly admin: number;
  readonly ingress: number;
}

class Node implements RestateNode {
  readonly ingress: string;
  readonly admin: string;
  readonly metrics: string;
  readonly #config: string;
  readonly #log: string;
  #process: ChildProcess | undefined;

  constructor(config: string, log: string, { admin, ingress, fabric }: Place) {
    this.#config = config;
    this.#log = log;
    this.ingress = `http://127.0.0.1:${ingress}`;
    this.admin = `http://127.0.0.1:${admin}`;
    this.metrics = `http://127.0.0.1:${fabric}/metrics`;
  }

  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  async kill(): Promise<void> {
    const { exitCode, signalCode } = this.#process ?? { exitCode: 0 };
    if (this.#process === undefined || exitCode !== null || signalCode !== null) return;
    const exited = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await exited;
  }

  async start(): Promise<void> {
    const output = openSync(this.#log, "a");
    this.#process = spawn(restateServer(), ["--no-logo", "-c", this.#config], {
      stdio: ["ignore", output, output],
      env: { ...process.env, RUST_LOG: "warn", TMPDIR: dirname(this.#config) },
    });
    const until = performance.now() + HEALTHY_WITHIN_MS;
    while (!((await isOk(`${this.ingress}/restate/health`)) && (await isOk(`${this.admin}/health`)))) {
      if (this.#process.exitCode !== null) throw new Error(`restate-server exited; see ${this.#log}`);
      if (performance.now() > until) throw new Error(`restate-server is not healthy; see ${this.#log}`);
      await sleep(50);
    }
  }
}

function configOf(
  { name, fabric, admin, ingress }: Place,
  cluster: {
    readonly folder: string;
    readonly count: number;
    readonly fabrics: readonly number[];
    readonly index: number;
  },
): string {
  const { folder, count, fabrics, index } = cluster;
  const metadata = fabrics.map((port) => JSON.stringify(`http://127.0.0.1:${port}/`)).join(", ");
  return `
node-name = "${name}"
cluster-name = "sandgate"
auto-provision = ${index === 0}
base-dir = ${JSON.stringify(join(folder, "data"))}
listen-mode = "tcp"
bind-address = "127.0.0.1:${fabric}"
advertised-address = "http://127.0.0.1:${fabric}/"
default-num-partitions = 2
default-replication = ${Math.min(count, 2)}
disable-telemetry = true
rocksdb-total-memory-size = "256 MB"
# Several nodes and all that they work for share the cores of one machine. What only a network or operators need costs a
# quarter of what a node uses.
rocksdb-perf-level = "disable"
tracing-filter = "warn"
disable-prometheus = ${count > 1}
# How soon the others take over from a node that is gone, and give it work again when it is back.
gossip-suspect-interval = "500ms"
gossip-loneliness-threshold = 10
[networking]
disable-compression = true
[worker.storage]
rocksdb-disable-statistics = true
rocksdb-disable-wal-compression = true
rocksdb-disable-l0-l1-compression = true
[bifrost.local]
rocksdb-disable-statistics = true
rocksdb-disable-wal-compression = true
rocksdb-disable-l0-l1-compression = true
[bifrost]
default-provider = "replicated"
seal-retry-interval = "250ms"
auto-recovery-interval = "2s"
[bifrost.replicated-loglet]
sequencer-inactivity-timeout = "3s"
store-timeout = "500ms..10s"
[metadata-client]
type = "replicated"
addresses = [${metadata}]
[admin]
bind-address = "127.0.0.1:${admin}"
disable-web-ui = true
[ingress]
bind-address = "127.0.0.1:${ingress}"
`;
}

/** The binary itself: the script of the package would outlive a SIGKILL of its parent. */
export function restateServer(): string {
  const { resolve } = createRequire(
    createRequire(import.meta.url).resolve("@restatedev/restate-server/package.json"),
  );
  return resolve(`@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`);
}

async function isOk(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(1_000) })).ok;
  } catch {
    return false;
  }
}
