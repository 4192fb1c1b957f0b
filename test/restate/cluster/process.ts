import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { openSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { ClusterServerOptions } from "./server.ts";

/** What can be killed and started again. */
export interface Victim {
  readonly kind: "node" | "server";
  /** Ends the process with SIGKILL. */
  kill(): Promise<void>;
  /** Starts it again, and waits until it is healthy. */
  start(): Promise<void>;
}

const CLOCK = join(import.meta.dirname, "wrong-clock.ts");
const HEALTHY_WITHIN_MS = 60_000;

/** One server of the cluster, in a process of its own. */
export class ServerProcess implements Victim {
  readonly kind = "server";
  readonly url: string;
  readonly #options: ClusterServerOptions;
  readonly #log: string;
  #process: ChildProcess | undefined;

  /** @param log Where the process writes what it says. */
  constructor(options: ClusterServerOptions, log: string) {
    this.#options = options;
    this.#log = log;
    this.url = `http://127.0.0.1:${options.port}`;
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
    const file = join(import.meta.dirname, "server.ts");
    const started = spawn(
      process.execPath,
      ["--expose-gc", "--import", CLOCK, file, JSON.stringify(this.#options)],
      {
        stdio: ["ignore", output, output],
        // So that a restart takes as long as with code that is built.
        env: {
          ...{ ...process.env, NODE_COMPILE_CACHE: join(dirname(this.#log), "compiled") },
          SANDGATE_CLOCK_MS: `${this.#options.clockMs ?? 0}`,
        },
      },
    );
    this.#process = started;
    const until = performance.now() + HEALTHY_WITHIN_MS;
    while (!(await this.#isHealthy())) {
      if (started.exitCode !== null)
        throw new Error(`a server ended with ${started.exitCode}; see ${this.#log}`);
      if (performance.now() > until) throw new Error(`a server is not healthy; see ${this.#log}`);
      await sleep(25);
    }
  }

  async #isHealthy(): Promise<boolean> {
    try {
      return (await fetch(`${this.url}/health`, { signal: AbortSignal.timeout(2_000) })).ok;
    } catch {
      return false;
    }
  }
}
