import { describeThrown } from "../../base/thrown.ts";
import type { CapabilityName } from "../../policy/grant/capabilities.ts";
import { firstLimitBesides, type LimitName, type ResourceLimits } from "../../policy/grant/limits.ts";
import type { ToolImplementations } from "../../tool/implementations/implementations.ts";
import { refuseUnbound } from "../contract/bound-grant.ts";
import type { SandboxOutcome } from "../contract/outcome.ts";
import { type Sandbox, ToolPreparationError } from "../contract/sandbox.ts";
import type { SandboxTask } from "../contract/task.ts";
import { type Cgroup, Cgroups } from "./cgroups/cgroups.ts";
import type { GrantedFiles, Launcher } from "./launcher.ts";
import { Bubblewrap } from "./namespaces/bubblewrap.ts";
import { ProcessCall } from "./process-call.ts";
import { enforceableLimits, PROCESS_DEFAULTS } from "./process-limits.ts";
import { ProgramChanges } from "./program-changes.ts";

/** Every program can read clocks and draw random bytes, whether they are granted or not. */
const CAPABILITIES: ReadonlySet<CapabilityName> = new Set(["fs", "env", "clock", "random"]);

/**
 * Runs programs that are confined by the kernel: each call in namespaces of its own, with a seccomp filter. A program
 * sees the system's directories read-only, what its grant names, and no network. Linux only.
 */
export class ProcessSandbox implements Sandbox {
  readonly mode = "process";
  readonly capabilities: ReadonlySet<CapabilityName> = CAPABILITIES;
  readonly defaults: ResourceLimits = PROCESS_DEFAULTS;
  readonly #running = new Set<ProcessCall>();
  #found: Cgroups | undefined;
  #bubblewrap: Promise<Launcher> | undefined;
  #closed = false;

  unenforceable(limits: ResourceLimits): LimitName | undefined {
    return firstLimitBesides(limits, enforceableLimits(this.#cgroups));
  }

  async prepare({ process: program }: ToolImplementations<never, never>): Promise<void> {
    if (program === undefined) return;
    if (this.#closed) throw new ToolPreparationError("the sandbox is closed");
    try {
      await this.#open();
    } catch (error) {
      throw new ToolPreparationError((error as Error).message);
    }
  }

  async run(task: SandboxTask): Promise<SandboxOutcome> {
    const { process: program } = task.implementations;
    if (this.#closed || program === undefined)
      return unavailable(this.#closed ? "the sandbox is closed" : "the tool is not a program");
    const refused = refuseUnbound(task, "process");
    if (refused !== undefined) return refused;
    let files: GrantedFiles | undefined;
    let cgroup: Cgroup | undefined;
    try {
      const launcher = await this.#open();
      files = launcher.openFiles(task.capabilities.fs ?? []);
      const changes = new ProgramChanges(program, files.places, task.observer);
      await changes.begin();
      if (this.#closed) return unavailable("the sandbox is closed");
      cgroup = this.#cgroups.create(task.limits, launcher.ownProcesses);
      const call = new ProcessCall(task, program, launcher, files, cgroup);
      this.#running.add(call);
      return await changes.addTo(await call.ended.finally(() => this.#running.delete(call)));
    } catch (error) {
      return unavailable(describeThrown(error).detail);
    } finally {
      files?.[Symbol.dispose]();
      await cgroup?.[Symbol.asyncDispose]();
    }
  }

  /** Ends all programs, and waits until they have ended. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(Array.from(this.#running, (call) => call.stop("cancelled", 0)));
    const bubblewrap = await this.#bubblewrap?.catch(() => undefined);
    bubblewrap?.[Symbol.dispose]();
  }

  /** Looked for once, when the first limit is checked: most processes run no programs. */
  get #cgroups(): Cgroups {
    this.#found ??= new Cgroups();
    return this.#found;
  }

  /** Finds out once whether programs can be confined; if not, the next call tries again. */
  #open(): Promise<Launcher> {
    this.#bubblewrap ??= Bubblewrap.open().catch((error) => {
      this.#bubblewrap = undefined;
      throw error;
    });
    return this.#bubblewrap;
  }
}

function unavailable(detail: string): SandboxOutcome {
  return { status: "unavailable", effect: "none", used: { wallTimeMs: 0 }, detail };
}
