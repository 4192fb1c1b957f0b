import { performance } from "node:perf_hooks";
import { awaitWork } from "../../base/turns.ts";
import type { ProxyOptions } from "../../egress/proxy/forward-proxy.ts";
import type { CapabilityName } from "../../policy/grant/capabilities.ts";
import { firstLimitBesides, type LimitName, type ResourceLimits } from "../../policy/grant/limits.ts";
import type { ToolImplementations } from "../../tool/implementations/implementations.ts";
import type { Isolation } from "../../tool/sandbox-mode.ts";
import { refuseUnbound } from "../contract/bound-grant.ts";
import { GuestMemory } from "../contract/guest-memory.ts";
import type { SandboxOutcome } from "../contract/outcome.ts";
import { ownerOf, type Sandbox, type SandboxTask, ToolPreparationError } from "../contract/sandbox.ts";
import { CallNetwork } from "./call-network.ts";
import { type Cgroup, Cgroups } from "./cgroups.ts";
import { LandlockLauncher } from "./landlock/landlock-launcher.ts";
import type { GrantedFiles, Launcher } from "./launcher.ts";
import {
  type ConfinedProgram,
  type ConfinedProgramOptions,
  type RunningProgram,
  startRunningProgram,
} from "./long-running/running-program.ts";
import { Bubblewrap } from "./namespaces/bubblewrap.ts";
import { ProcessCall } from "./process-call.ts";
import { defaultLimits, enforceableLimits, PROCESS_DEFAULTS, PROGRAM_IDLE_MS } from "./process-limits.ts";
import { type EarlyEndTimes, type Program, programFor, shellCommand, timesOf } from "./program.ts";
import { failedStart, lostProgram, ProgramChanges, unavailableStart } from "./program-outcome.ts";
import { ShellCommands } from "./shell/shell-commands.ts";

/** A launcher, and why it is not the strictest one. */
interface OpenedLauncher {
  readonly launcher: Launcher;
  /** Why there are no namespaces, if they were not chosen. */
  readonly fellBack?: string;
}

/** The strictest first. */
const LAUNCHERS: readonly (readonly [Isolation, (bubblewrap?: string) => Promise<Launcher>])[] = [
  ["namespaces", (bubblewrap) => Bubblewrap.open(bubblewrap)],
  ["landlock", () => LandlockLauncher.open()],
];

/** Every program can read clocks and draw random bytes, whether they are granted or not. */
const CAPABILITIES: Readonly<Record<Isolation, ReadonlySet<CapabilityName>>> = {
  namespaces: new Set<CapabilityName>(["fs", "net", "env", "clock", "random"]),
  // A network of the program's own needs namespaces.
  landlock: new Set<CapabilityName>(["fs", "env", "clock", "random"]),
};

const SHELL_IDLE_MS = 600_000;

/** Options of {@link ProcessSandbox.open}. */
export interface ProcessSandboxOptions {
  /**
   * What must confine programs. Default: `namespaces`, or `landlock` where they are not available, which the
   * first call logs for the operator (`tool.log`, `warn`).
   */
  readonly isolation?: Isolation;
  /** The absolute path of bubblewrap. Default: `/usr/bin/bwrap`. */
  readonly bubblewrap?: string;
  /** Milliseconds after the last command of a persistent shell until it is ended. Default: 600,000. */
  readonly shellIdleMs?: number;
  /**
   * Milliseconds after which a program that neither writes anything nor uses CPU time is ended, unless its tool or its call
   * says otherwise: see `ProcessImplementation.idleMs`. `Infinity`: it never is. Default: 60,000.
   */
  readonly idleMs?: number;
}

interface ProcessSandboxParts {
  readonly openEgress: ProxyOptions["openEgress"];
  readonly launcher: Launcher;
  readonly fellBack: string | undefined;
  readonly shells: ShellCommands;
  readonly memory: GuestMemory;
  readonly idleMs: number;
}

/**
 * Runs programs that are confined by the kernel: each call in namespaces of its own, or else on Landlock, with a seccomp
 * filter. A program sees the system's directories read-only, what its grant names, and of the network only a proxy for the
 * origins that its grant names; on Landlock, no network. Linux only.
 */
export class ProcessSandbox implements Sandbox {
  readonly mode = "process";
  readonly capabilities: ReadonlySet<CapabilityName>;
  readonly defaults: ResourceLimits;
  readonly isolation: Isolation;
  readonly #launcher: Launcher;
  readonly #openEgress: ProxyOptions["openEgress"];
  readonly #memory: GuestMemory;
  readonly #idleMs: number;
  readonly #shells: ShellCommands;
  readonly #running = new Set<ProcessCall>();
  readonly #programs = new Set<RunningProgram>();
  /** Why there are no namespaces, until it is logged. */
  #fellBack: string | undefined;
  #found: Cgroups | undefined;
  #closed = false;

  /**
   * Finds out whether programs can be confined here.
   *
   * @param memory Where outputs have to have room. Default: one of its own.
   * @throws {ToolPreparationError} if they cannot. The message says why.
   */
  static async open(
    openEgress: ProxyOptions["openEgress"],
    {
      isolation,
      bubblewrap,
      shellIdleMs = SHELL_IDLE_MS,
      idleMs = PROGRAM_IDLE_MS,
    }: ProcessSandboxOptions = {},
    memory: GuestMemory = new GuestMemory(),
  ): Promise<ProcessSandbox> {
    const { launcher, fellBack } = await openLauncher(isolation, bubblewrap);
    const shells = new ShellCommands(launcher, shellIdleMs, memory);
    return new ProcessSandbox({ openEgress, launcher, fellBack, shells, memory, idleMs });
  }

  private constructor({ openEgress, launcher, fellBack, shells, memory, idleMs }: ProcessSandboxParts) {
    this.#openEgress = openEgress;
    this.#launcher = launcher;
    this.#shells = shells;
    this.#memory = memory;
    this.#idleMs = idleMs;
    this.isolation = launcher.isolation;
    this.capabilities = CAPABILITIES[launcher.isolation];
    this.defaults = defaultLimits(launcher.isolation);
    this.#fellBack = fellBack;
  }

  unenforceable(limits: ResourceLimits): LimitName | undefined {
    return firstLimitBesides(limits, enforceableLimits(this.#cgroups, this.isolation));
  }

  async prepare({ process: program }: ToolImplementations<never, never>): Promise<void> {
    if (program !== undefined && this.#closed) throw new ToolPreparationError("the sandbox is closed");
  }

  async run(task: SandboxTask): Promise<SandboxOutcome> {
    const { process: tool } = task.implementations;
    if (this.#closed || tool === undefined)
      return unavailable(this.#closed ? "the sandbox is closed" : "the tool is not a program");
    const refused = refuseUnbound(task, "process");
    if (refused !== undefined) return refused;
    this.#warn(task);
    let program: Program;
    let command: string | undefined;
    let times: EarlyEndTimes;
    try {
      program = programFor(tool, task);
      command = shellCommand(tool, task);
      times = timesOf(tool, task, this.#idleMs);
    } catch (error) {
      return failedStart(error);
    }
    if (command !== undefined)
      return this.#shells.run({ task, tool, program, command, times }, this.#cgroups);
    const grants = task.capabilities.fs ?? [];
    const owner = ownerOf(task);
    let files: GrantedFiles | undefined;
    let cgroup: Cgroup | undefined;
    let network: CallNetwork | undefined;
    let launchedAt: number | undefined;
    try {
      const launcher = this.#launcher;
      files = await launcher.openFiles(grants, owner, "call");
      const changes = new ProgramChanges(tool, program, files.places, task.observer);
      await changes.begin();
      // Starting a program takes some milliseconds.
      await awaitWork(owner);
      if (this.#closed) return unavailable("the sandbox is closed");
      cgroup = this.#cgroups.create(task.limits, launcher.ownProcesses);
      const { net = [] } = task.capabilities;
      if (net.length > 0)
        network = new CallNetwork({
          openEgress: this.#openEgress,
          grants: net,
          netBytes: task.limits.netBytes ?? PROCESS_DEFAULTS.netBytes,
          warn: (text) => task.observer.log("warn", text),
        });
      const call = new ProcessCall({
        task,
        tool,
        program,
        launcher,
        files,
        cgroup,
        network,
        memory: this.#memory,
        times,
      });
      launchedAt = performance.now();
      this.#running.add(call);
      const outcome = await call.ended.finally(() => this.#running.delete(call));
      // The next call with a network would need a launcher of its own, too.
      if (outcome.status !== "unavailable" && network === undefined) launcher.prepare?.(grants, owner);
      return await changes.addTo(outcome);
    } catch (error) {
      return launchedAt === undefined ? unavailableStart(error) : lostProgram(error, launchedAt);
    } finally {
      network?.[Symbol.dispose]();
      await files?.[Symbol.asyncDispose]();
      await cgroup?.[Symbol.asyncDispose]();
    }
  }

  /**
   * Starts a program that stays until it ends, is stopped, or this process or the sandbox ends.
   *
   * @throws {ToolPreparationError} if it cannot be confined as asked. The message says why.
   * @throws {TypeError} if an option is invalid.
   */
  async start(options: ConfinedProgramOptions): Promise<ConfinedProgram> {
    if (this.#closed) throw new ToolPreparationError("the sandbox is closed");
    if (this.#fellBack !== undefined) {
      options.warn?.(fallbackText(this.#fellBack));
      this.#fellBack = undefined;
    }
    const program = await startRunningProgram(options, {
      launcher: this.#launcher,
      cgroups: this.#cgroups,
      openEgress: this.#openEgress,
    });
    if (this.#closed) {
      await program.stop(0);
      throw new ToolPreparationError("the sandbox is closed");
    }
    this.#programs.add(program);
    void program.ended.then(() => this.#programs.delete(program));
    return program;
  }

  endSession(sessionId: string): void {
    this.#shells.endSession(sessionId);
  }

  /** Ends all programs, and waits until they have ended. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([
      this.#shells.close(),
      ...Array.from(this.#running, (call) => call.stop("cancelled", 0)),
      ...Array.from(this.#programs, (program) => program.stop(0)),
    ]);
    await this.#launcher[Symbol.asyncDispose]();
  }

  /** Looked for once, when the first limit is checked: most processes run no programs. */
  get #cgroups(): Cgroups {
    this.#found ??= new Cgroups();
    return this.#found;
  }

  #warn({ observer }: SandboxTask): void {
    if (this.#fellBack === undefined) return;
    observer.log("warn", fallbackText(this.#fellBack));
    this.#fellBack = undefined;
  }
}

function fallbackText(reason: string): string {
  return `Programs are confined with Landlock, which holds less than namespaces would: ${reason}`;
}

function unavailable(detail: string): SandboxOutcome {
  return { status: "unavailable", effect: "none", used: { wallTimeMs: 0 }, detail };
}

/**
 * Opens the launcher that confines programs with namespaces, or else the one with Landlock.
 *
 * @param required The isolation to use. Default: the first that works.
 * @param bubblewrap Its absolute path.
 * @throws {ToolPreparationError} if none works. The message says why.
 */
export async function openLauncher(required?: Isolation, bubblewrap?: string): Promise<OpenedLauncher> {
  const problems: string[] = [];
  for (const [isolation, open] of LAUNCHERS) {
    if (required !== undefined && required !== isolation) continue;
    try {
      const launcher = await open(bubblewrap);
      const [fellBack] = problems;
      return { launcher, ...(fellBack !== undefined && { fellBack }) };
    } catch (error) {
      problems.push((error as Error).message);
    }
  }
  throw new ToolPreparationError(problems.join("; "));
}
