import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EventStream } from "../../../../src/engine/call/events.ts";
import type { ToolExecution } from "../../../../src/engine/call/execution.ts";
import { ToolDispatchEngine } from "../../../../src/engine/engine.ts";
import { ToolRegistry } from "../../../../src/engine/registry.ts";
import type { JsonObject } from "../../../../src/json/value.ts";
import type { Capabilities } from "../../../../src/policy/grant/capabilities.ts";
import type { ResourceLimits } from "../../../../src/policy/grant/limits.ts";
import { allow } from "../../../../src/policy/policy.ts";
import type { Principal } from "../../../../src/policy/principal.ts";
import { Redaction } from "../../../../src/redaction/redaction.ts";
import { openSandboxes, type Sandboxes } from "../../../../src/sandboxes/open-sandboxes.ts";
import type { ProcessSandboxOptions } from "../../../../src/sandboxes/process/process-sandbox.ts";
import { runCommand, type ShellOptions } from "../../../../src/toolsets/shell-tools.ts";

/** Whose command it is, what it gets, and what else its call has. */
export interface CommandOptions {
  readonly sessionId?: string;
  readonly principal?: Principal;
  readonly capabilities?: Capabilities;
  readonly limits?: ResourceLimits;
  readonly signal?: AbortSignal;
  readonly arguments?: JsonObject;
  readonly onOutput?: (chunk: string) => void;
  readonly onLog?: (message: string) => void;
}

/** The tool `run_command`, each of whose commands is for the shell of its session, with a workspace. */
export class ShellScene implements AsyncDisposable {
  readonly workspace: string = realpathSync(mkdtempSync(join(tmpdir(), "persistent-shell-")));
  readonly sandboxes: Sandboxes;
  readonly registry: ToolRegistry = new ToolRegistry();
  readonly #seconds = 1_000_000 + Math.floor(Math.random() * 1_000_000_000);
  #calls = 0;

  private constructor(sandboxes: Sandboxes, options: ShellOptions) {
    this.sandboxes = sandboxes;
    this.registry.register(runCommand("run_command", options));
  }

  static async open(process: ProcessSandboxOptions = {}, options: ShellOptions = {}): Promise<ShellScene> {
    return new ShellScene(await openSandboxes({ process }), options);
  }

  /** A command that goes on for so long that only its end by someone else is seen, and that no other scene has. */
  get sleep(): string {
    return `sleep ${this.#seconds}`;
  }

  /** How many processes run {@link sleep}. */
  get sleeping(): number {
    return readdirSync("/proc").filter((pid) => {
      if (!/^\d+$/.test(pid)) return false;
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(`sleep\0${this.#seconds}\0`);
      } catch {
        return false;
      }
    }).length;
  }

  /** Dispatches a command. */
  async run(command: string, options: CommandOptions = {}): Promise<ToolExecution> {
    const { sessionId = "s1", limits = {}, signal, principal, onOutput, onLog } = options;
    const { capabilities = { fs: [{ directory: this.workspace, write: true }] } } = options;
    const events = new EventStream();
    events.on((event) => {
      if (event.type === "tool.output") onOutput?.(event.chunk);
      if (event.type === "tool.log") onLog?.(event.message);
    });
    const args = { command, persistent: true, ...options.arguments };
    const execution = await new ToolDispatchEngine().dispatch(
      { id: `${++this.#calls}`, name: "run_command", arguments: args },
      {
        ...(signal && { signal }),
        ...(principal && { principal }),
        events,
        sessionId,
        registry: this.registry,
        sandboxes: this.sandboxes,
        policy: { check: () => allow({ sandbox: "process", limits, capabilities }) },
        partialOutput: new Redaction(),
      },
    );
    return execution as ToolExecution;
  }

  /** Dispatches a command, and returns its standard output. */
  async stdout(command: string, options: CommandOptions = {}): Promise<string> {
    const { output, error } = await this.run(command, options);
    if (error !== undefined) throw new Error(`${error.code}: ${error.message}`);
    return (output as { readonly stdout: string }).stdout;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sandboxes.close();
    rmSync(this.workspace, { recursive: true, force: true });
  }
}
