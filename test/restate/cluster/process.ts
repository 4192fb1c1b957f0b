import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { openSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** What can be killed and started again. */
export interface Victim {
  readonly kind: "node" | "server";
  /** Ends the process with SIGKILL. */
  kill(): Promise<void>;
  /** Starts it again, and waits until it is healthy. */
  start(): Promise<void>;
}

/** What a server is told. */
export interface ServerOptions {
  readonly port: number;
  /** The config: see `writeProject`. */
  readonly config: string;
  /** The file of effects. */
  readonly effects: string;
  /** Where tools ask before and after each effect, which may kill the process. Default: they ask nothing. */
  readonly steps?: string;
  /** By how much the clock of the process is wrong, in ms. Default: it is right. */
  readonly clockMs?: number;
  /** The program of the command `sandgate`. Default: the sources. */
  readonly main?: string;
}

const SOURCES = resolve(import.meta.dirname, "../../../src/cli/main.ts");
const CLOCK = join(import.meta.dirname, "wrong-clock.ts");
const COMPILED = resolve(import.meta.dirname, "../../compiled.ts");
const HEALTHY_WITHIN_MS = 60_000;

/** A process of `sandgate serve`. */
export class ServerProcess implements Victim {
  readonly kind = "server";
  readonly url: string;
  readonly #options: ServerOptions;
  readonly #log: string;
  #process: ChildProcess | undefined;

  /** @param log Where the process writes what it says. */
  constructor(options: ServerOptions, log: string) {
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

  /** Has the process stand still until {@link resume}. */
  pause(): void {
    this.#process?.kill("SIGSTOP");
  }

  resume(): void {
    this.#process?.kill("SIGCONT");
  }

  async start(): Promise<void> {
    const output = openSync(this.#log, "a");
    const { port, config, effects, steps, clockMs = 0, main = SOURCES } = this.#options;
    const first = ["--import", COMPILED, ...(clockMs === 0 ? [] : ["--import", CLOCK])];
    const args = ["serve", "--config", config, "--listen", `127.0.0.1:${port}`];
    const started = spawn(process.execPath, [...first, main, ...args], {
      stdio: ["ignore", output, output],
      env: {
        ...process.env,
        NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] ?? join(dirname(this.#log), "compiled"),
        SANDGATE_CLOCK_MS: `${clockMs}`,
        SANDGATE_TEST_EFFECTS: effects,
        ...(steps !== undefined && { SANDGATE_TEST_STEPS: steps }),
      },
    });
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
      return (await fetch(`${this.url}/readyz`, { signal: AbortSignal.timeout(2_000) })).ok;
    } catch {
      return false;
    }
  }
}
