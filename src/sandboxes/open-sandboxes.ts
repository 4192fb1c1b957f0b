import { entryFile } from "../base/package-files.ts";
import { type OptionNames, refuseUnknown } from "../base/unknown-names.ts";
import type { Egress, EgressOptions } from "../egress/egress.ts";
import { sandboxesOf, type ToolImplementations } from "../tool/implementations/implementations.ts";
import type { KeyValueStores } from "../tool/key-value-store.ts";
import type { SandboxMode } from "../tool/sandbox-mode.ts";
import { GuestMemory } from "./contract/guest-memory.ts";
import {
  type Sandbox,
  type SandboxRouter,
  type SandboxStats,
  ToolPreparationError,
} from "./contract/sandbox.ts";
import { HostSandbox } from "./host/host-sandbox.ts";
import { AbandonedFunctions } from "./host/running-calls.ts";
import type { MicrovmOptions } from "./microvm/microvm-sandbox.ts";
import type { ConfinedProgram, ConfinedProgramOptions } from "./process/long-running/running-program.ts";
import type { ProcessSandbox, ProcessSandboxOptions } from "./process/process-sandbox.ts";
import type { SecretSource } from "./remote/endpoint/secrets.ts";
import { checkCredentials, type ExecutorClientOptions } from "./remote/executor-client/credentials.ts";
import { AbandonedThreads } from "./threads/abandoned-threads.ts";
import type { ForeignPool } from "./threads/pool-task.ts";
import type { WorkerPool, WorkerPoolOptions } from "./threads/worker-pool.ts";

const SANDBOXES_NAMES: OptionNames<SandboxesOptions> = {
  workers: true,
  wasm: true,
  process: true,
  microvm: true,
  egress: true,
  keyValue: true,
  secrets: true,
  remote: true,
};
const WORKERS_NAMES: OptionNames<NonNullable<SandboxesOptions["workers"]>> = {
  threads: true,
  maxWaitMs: true,
  pool: true,
};
const WASM_NAMES: OptionNames<NonNullable<SandboxesOptions["wasm"]>> = { cacheDirectory: true };
const PROCESS_NAMES: OptionNames<ProcessSandboxOptions> = {
  isolation: true,
  bubblewrap: true,
  shellIdleMs: true,
  idleMs: true,
};
const MICROVM_NAMES: OptionNames<MicrovmOptions> = {
  kernel: true,
  accelerator: true,
  ready: true,
  memoryBytes: true,
  cacheDirectory: true,
};
const EGRESS_NAMES: OptionNames<EgressOptions> = {
  resolve: true,
  connectTimeoutMs: true,
  headerBytes: true,
  ca: true,
};
const REMOTE_NAMES: OptionNames<ExecutorClientOptions> = {
  signingKey: true,
  keyId: true,
  token: true,
  ca: true,
  cert: true,
  key: true,
  frames: true,
};

/** Options of {@link openSandboxes}. */
export interface SandboxesOptions {
  /** The thread pools of host workers, Wasm and QuickJS: one each, opened on first use. */
  readonly workers?: WorkerPoolOptions & {
    /** Your own threads for the modules of host tools: `piscinaPool` of `sandgate/piscina`. Default: a pool as above. */
    readonly pool?: ForeignPool;
  };
  readonly wasm?: {
    /** Keeps the digests of components that were validated. Default: `sandgate/wasm` in the user's cache directory. */
    readonly cacheDirectory?: string;
  };
  /** What confines programs. */
  readonly process?: ProcessSandboxOptions;
  /** The virtual machines: their kernel, and how many there may be. */
  readonly microvm?: MicrovmOptions;
  /** How tools' requests are sent, such as which certificate authorities are trusted. */
  readonly egress?: EgressOptions;
  /** Opens the key-value stores that a grant names. Default: calls with such a grant are refused. */
  readonly keyValue?: KeyValueStores;
  /** Finds the values of the secrets that a grant names. Default: the environment variables of the same names. */
  readonly secrets?: SecretSource;
  /** Authenticates this process to executors, and says how calls are sent to them. Default: no credentials. */
  readonly remote?: ExecutorClientOptions;
}

/** The open sandboxes, for `DispatchContext.sandboxes`. Close them when no more calls are dispatched. */
export interface Sandboxes extends SandboxRouter, AsyncDisposable {
  /**
   * Prepares a tool in every sandbox in which it can run, so its first call does not have to wait for that.
   *
   * @throws {ToolPreparationError} if it cannot run in one of them.
   */
  prepare(tool: ToolImplementations<never, never>): Promise<void>;
  /**
   * Starts a program in the sandbox `process` that stays, such as a server that is spoken to over its standard streams. It
   * is confined like the program of a tool, and ends with these sandboxes and with this process.
   *
   * @throws {ToolPreparationError} if it cannot be confined as asked. The message says why.
   * @throws {TypeError} if an option is invalid.
   */
  startConfinedProgram(options: ConfinedProgramOptions): Promise<ConfinedProgram>;
  /**
   * The number of threads that could not be terminated and are still running. Node.js emits a warning with the code
   * `SANDGATE_THREAD_ABANDONED` for each. Until the thread ends, calls of its tool fail with `sandbox_unavailable`. If
   * there are twice as many as `workers.threads`, every call that needs a thread fails in this way, and the process
   * should be restarted.
   */
  readonly abandonedThreads: number;
  /** Counts the current resources of the sandboxes. */
  stats(): SandboxStats;
  /**
   * Lets this process exit with its exit code although it has abandoned threads. Otherwise, such a thread blocks
   * `process.exit`, the exit after an uncaught error, and the natural end of the process. Only the program that owns
   * the process should call this, once. If there are abandoned threads when the process exits, the other `exit`
   * listeners run, and a shell that exits with the code then replaces the process (`process.execve`). Where that is
   * not possible (on Windows, or without `/bin/sh`), the process is killed and the exit code is lost.
   *
   * This has no effect in a worker thread, or if `process.exit` is called in an `exit` listener.
   */
  ensureExit(): void;
  /** Frees what is retained for later calls of a session, such as its shell. `Sessions` call it when a session is closed. */
  endSession(sessionId: string): void;
  /**
   * Ends all running calls and frees all resources. Later calls fail with `sandbox_unavailable`. Resolves when all
   * threads have ended or are abandoned. Idempotent.
   */
  close(): Promise<void>;
}

/**
 * Opens the sandboxes. The code for Wasm, QuickJS and HTTP is loaded when a call first needs it.
 *
 * @throws {TypeError} if the credentials for executors are invalid.
 * @throws {PackageFileError} if Sandgate's files are not beside its code, as in a bundle.
 */
export async function openSandboxes(options: SandboxesOptions = {}): Promise<Sandboxes> {
  // Without its files, each call would fail later.
  entryFile("sandboxes/threads/thread-main");
  checkNames(options);
  return new LazySandboxes(options);
}

function checkNames(options: SandboxesOptions): void {
  refuseUnknown(options, SANDBOXES_NAMES, "openSandboxes");
  const { workers, wasm, process, microvm, egress, remote } = options;
  const groups: readonly (readonly [object | undefined, object, string])[] = [
    [workers, WORKERS_NAMES, "workers"],
    [wasm, WASM_NAMES, "wasm"],
    [process, PROCESS_NAMES, "process"],
    [microvm, MICROVM_NAMES, "microvm"],
    [egress, EGRESS_NAMES, "egress"],
    [remote, REMOTE_NAMES, "remote"],
  ];
  for (const [given, names, name] of groups)
    if (given !== undefined) refuseUnknown(given, names, `${name} of openSandboxes`);
}

class LazySandboxes implements Sandboxes {
  readonly #open: Record<SandboxMode, () => Sandbox | Promise<Sandbox>>;
  readonly #opened = new Map<SandboxMode, Sandbox | Promise<Sandbox>>();
  readonly #abandoned: AbandonedThreads;
  readonly #functions = new AbandonedFunctions();
  readonly #pools = new Set<WorkerPool>();
  #egress: Promise<Egress> | undefined;
  #closed = false;

  constructor(options: SandboxesOptions) {
    const { wasm = {}, egress = {}, keyValue, secrets, remote = {} } = options;
    const { threads, maxWaitMs } = options.workers ?? {};
    this.#abandoned = new AbandonedThreads(threads);
    const workers = { ...options.workers, abandoned: this.#abandoned, pools: this.#pools };
    const credentials = checkCredentials({ ...(egress.ca !== undefined && { ca: egress.ca }), ...remote });
    const openEgress = (): Promise<Egress> => this.#openEgress(egress);
    const memory = new GuestMemory();
    this.#open = {
      host: () => new HostSandbox({ workers, abandonedFunctions: this.#functions }),
      wasm: async () =>
        new (await import("./wasm/wasm-sandbox.ts")).WasmSandbox({
          ...wasm,
          workers,
          openEgress,
          memory,
          ...(keyValue && { keyValue }),
        }),
      quickjs: async () =>
        new (await import("./quickjs/quickjs-sandbox.ts")).QuickJsSandbox({ workers, openEgress, memory }),
      process: async () =>
        (await import("./process/process-sandbox.ts")).ProcessSandbox.open(
          openEgress,
          options.process,
          memory,
        ),
      microvm: async () =>
        (await import("./microvm/microvm-sandbox.ts")).openMicrovm(options.microvm, maxWaitMs, memory),
      remote: async () =>
        new (await import("./remote/remote-sandbox.ts")).RemoteSandbox({
          egress: await openEgress(),
          credentials,
          frames: remote.frames,
          maxWaitMs,
          memory,
          ...(secrets && { secrets }),
        }),
    };
  }

  route(mode: SandboxMode): Sandbox | undefined | Promise<Sandbox | undefined> {
    if (this.#closed) return undefined;
    const known = this.#opened.get(mode);
    if (known !== undefined) return known;
    const opening = this.#open[mode]();
    this.#opened.set(mode, opening);
    if (opening instanceof Promise) this.#settle(mode, opening);
    return opening;
  }

  /** Keeps the sandbox itself, so that later calls do not wait; an opening that failed is tried again. */
  #settle(mode: SandboxMode, opening: Promise<Sandbox>): void {
    opening.then(
      (sandbox) => this.#opened.set(mode, sandbox),
      () => this.#opened.delete(mode),
    );
  }

  /** Loads and opens the egress for the first request; all sandboxes share its connections. */
  async #openEgress(options: EgressOptions): Promise<Egress> {
    if (this.#egress === undefined) {
      if (this.#closed) throw new ToolPreparationError("the sandboxes are closed");
      this.#egress = import("../egress/egress.ts").then(({ Egress }) => new Egress(options));
    }
    return this.#egress;
  }

  async prepare(tool: ToolImplementations<never, never>): Promise<void> {
    for (const mode of sandboxesOf(tool)) {
      const sandbox = await this.route(mode);
      if (sandbox === undefined) throw new ToolPreparationError("the sandboxes are closed");
      await sandbox.prepare(tool);
    }
  }

  async startConfinedProgram(options: ConfinedProgramOptions): Promise<ConfinedProgram> {
    const sandbox = await this.route("process");
    if (sandbox === undefined) throw new ToolPreparationError("the sandboxes are closed");
    return (sandbox as ProcessSandbox).start(options);
  }

  get abandonedThreads(): number {
    return this.#abandoned.count;
  }

  stats(): SandboxStats {
    const waiting = this.#pools.values().reduce((sum, pool) => sum + pool.waiting, 0);
    return { abandoned: this.#abandoned.count + this.#functions.count, waiting };
  }

  ensureExit(): void {
    this.#abandoned.ensureExit();
  }

  endSession(sessionId: string): void {
    for (const sandbox of this.#opened.values())
      if (!(sandbox instanceof Promise)) sandbox.endSession?.(sessionId);
  }

  async close(): Promise<void> {
    this.#closed = true;
    const opened = await Promise.allSettled(this.#opened.values());
    await Promise.all(opened.map((sandbox) => sandbox.status === "fulfilled" && sandbox.value.close()));
    const egress = await this.#egress?.catch(() => undefined);
    await egress?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
