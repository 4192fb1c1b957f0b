import { randomUUID } from "node:crypto";
import { accessSync, closeSync, constants, openSync, readSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { type OptionNames, refuseUnknown } from "../base/unknown-names.ts";
import type { DispatchContext } from "../engine/call/context.ts";
import { ToolDispatchEngine } from "../engine/engine.ts";
import { ToolRegistry } from "../engine/registry.ts";
import type { AgentCapabilities } from "../policy/agent-capabilities.ts";
import type { CapabilityKernel } from "../policy/capability-kernel.ts";
import type { FsGrant } from "../policy/grant/fs-grant.ts";
import type { RuntimePolicy } from "../policy/policy.ts";
import { checkPrincipal } from "../policy/principal.ts";
import { ToolPreparationError } from "../sandboxes/contract/sandbox.ts";
import type { Sandboxes } from "../sandboxes/open-sandboxes.ts";
import type { LongRunningProgram } from "../sandboxes/process/long-running/running-program.ts";
import { startUnconfinedProgram } from "../sandboxes/process/long-running/unconfined-program.ts";
import type { FsMode } from "../tool/supervised-agent.ts";
import { canonicalCapabilities, canonicalPath } from "./access/canonical-path.ts";
import { SupervisedPolicy } from "./access/kernel-policy.ts";
import { Agent, type AgentHandle } from "./agent.ts";
import { AgentCalls } from "./agent-calls.ts";
import { AgentLog, type AgentLogLine } from "./agent-log.ts";

const NAMES: OptionNames<SupervisorOptions> = {
  journal: true,
  events: true,
  tracer: true,
  redaction: true,
  hooks: true,
  confirm: true,
  ask: true,
  timeouts: true,
  unhandledErrors: true,
  decisionTimeoutMs: true,
  upperBound: true,
  registry: true,
  kernel: true,
  sandboxes: true,
  policy: true,
  onLog: true,
  maxAgents: true,
};
const AGENT_NAMES: OptionNames<AgentOptions> = {
  command: true,
  args: true,
  env: true,
  cwd: true,
  capabilities: true,
  id: true,
  channel: true,
  confinement: true,
};

/** Options of {@link openSupervisor}, with those of a call's context that every agent shares. */
export interface SupervisorOptions
  extends Pick<
    DispatchContext,
    | "journal"
    | "events"
    | "tracer"
    | "redaction"
    | "hooks"
    | "confirm"
    | "ask"
    | "timeouts"
    | "unhandledErrors"
    | "decisionTimeoutMs"
    | "upperBound"
  > {
  /** The tools. Default: none, so that every call is `tool_not_found`. */
  readonly registry?: ToolRegistry;
  /** What each agent may have done for it. */
  readonly kernel: CapabilityKernel;
  /** Where tools run, and where agents are confined. They must stay open until the supervisor is closed. */
  readonly sandboxes: Sandboxes;
  /** Decides on calls that the kernel allows, and grants at most what it does. Default: the kernel decides alone. */
  readonly policy?: RuntimePolicy;
  /** Receives what agents write other than their calls. Default: it is dropped. */
  readonly onLog?: (line: AgentLogLine) => void;
  /** Maximum number of agents at once. Default: 256. */
  readonly maxAgents?: number;
}

/** How an agent is started. */
export interface AgentOptions {
  /** A path, or a name that is looked up in this process's `PATH`. */
  readonly command: string;
  /** Default: none. */
  readonly args?: readonly string[];
  /**
   * Variables in addition to `PATH`, `HOME` and `LANG`. Default: none; the environment of this process is not
   * passed on.
   */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * The agent's own folder, in which it begins. A confined agent sees it read-only with everything below it. Default: it has
   * no files; an unconfined one begins in `/`.
   */
  readonly cwd?: string;
  /** Granted to the agent when it starts. Paths may lead through links. Default: what the kernel has for its id. */
  readonly capabilities?: AgentCapabilities;
  /** Identifies the agent to the kernel, policies and the journal. Default: a new id. */
  readonly id?: string;
  /** Whether the calls come over a socket as its descriptor 3, and not over its standard streams. Default: false. */
  readonly channel?: boolean;
  /** `none` lets it do everything that this process can. Default: `"process"`, the sandbox. */
  readonly confinement?: "process" | "none";
}

/** Agents as child processes, whose tool calls it answers. Close it when they should end. */
export interface Supervisor extends AsyncDisposable {
  /**
   * Starts an agent.
   *
   * @throws {TypeError} if an option is invalid, the id belongs to a running agent, or there are too many.
   * @throws {ToolPreparationError} if it cannot be started or confined, or the supervisor is closed meanwhile. The message says
   *   why.
   */
  start(options: AgentOptions): Promise<AgentHandle>;
  /** Ends all agents, and waits for that. Idempotent. */
  close(): Promise<void>;
}

const MAX_AGENTS = 256;
const MAX_ID_LENGTH = 256;

/** Opens a supervisor. Agents that it starts end with it, and with this process. */
export function openSupervisor(options: SupervisorOptions): Supervisor {
  return new OpenSupervisor(options);
}

class OpenSupervisor implements Supervisor {
  readonly #options: SupervisorOptions;
  readonly #engine = new ToolDispatchEngine();
  readonly #registry: ToolRegistry;
  readonly #policy: RuntimePolicy;
  /** `undefined` while an agent starts. */
  readonly #agents = new Map<string, Agent | undefined>();
  readonly #starting = new Set<Promise<AgentHandle>>();
  readonly #stopListening: () => void;
  #isClosed = false;

  constructor(options: SupervisorOptions) {
    refuseUnknown(options, NAMES, "openSupervisor");
    const { kernel, journal, registry = new ToolRegistry(), policy } = options;
    this.#options = options;
    this.#registry = registry;
    this.#policy = new SupervisedPolicy(kernel, policy);
    this.#stopListening = kernel.onChange((change) => {
      try {
        journal?.recordKernelChange?.(change);
      } catch {
        // The journal reports its own failure, and refuses the next call.
      }
    });
  }

  async start(options: AgentOptions): Promise<AgentHandle> {
    refuseUnknown(options, AGENT_NAMES, "an agent");
    const { id = randomUUID(), capabilities } = options;
    const { kernel, maxAgents = MAX_AGENTS } = this.#options;
    if (this.#isClosed) throw new TypeError("the supervisor is closed");
    if (typeof id !== "string" || id === "" || id.length > MAX_ID_LENGTH || !id.isWellFormed())
      throw new TypeError(`the id of an agent must be a string of 1 to ${MAX_ID_LENGTH} characters`);
    if (this.#agents.has(id)) throw new TypeError(`an agent with the id '${id}' is running`);
    if (this.#agents.size >= maxAgents)
      throw new TypeError(`${maxAgents} agents are running, the most at once`);
    const granted = capabilities && canonicalCapabilities(capabilities);
    if (granted !== undefined) kernel.grant(id, granted);
    this.#agents.set(id, undefined);
    const starting = this.#start(id, options, granted !== undefined);
    this.#starting.add(starting);
    try {
      return await starting;
    } finally {
      this.#starting.delete(starting);
    }
  }

  async #start(id: string, options: AgentOptions, isGrantedHere: boolean): Promise<AgentHandle> {
    try {
      const log = new AgentLog(id, this.#options.onLog ?? (() => {}));
      const program = await this.#launch(options, (text) => log.note(text));
      const agent = await this.#supervise(id, program, log, isGrantedHere);
      this.#agents.set(id, agent);
      if (!this.#isClosed) return agent;
      await agent.stop(0);
      throw new ToolPreparationError("the supervisor was closed before the agent began");
    } catch (error) {
      this.#forget(id, isGrantedHere);
      throw error;
    }
  }

  async #launch(
    { command, args = [], env = {}, cwd, channel = false, confinement = "process" }: AgentOptions,
    warn: (text: string) => void,
  ): Promise<LongRunningProgram> {
    if (confinement === "none") {
      const variables = {
        PATH: process.env["PATH"] ?? "/usr/bin:/bin",
        LANG: "C.UTF-8",
        HOME: "/tmp",
        ...env,
      };
      return startUnconfinedProgram({ command, args, env: variables, cwd: cwd ?? "/", channel });
    }
    const own = ownFiles(command, cwd);
    const { sandboxes } = this.#options;
    return sandboxes.startConfinedProgram({ ...own, args, env, channel, warn });
  }

  async #supervise(
    id: string,
    program: LongRunningProgram,
    log: AgentLog,
    isGrantedHere: boolean,
  ): Promise<Agent> {
    const pid = await program.pid;
    if (pid === undefined) {
      for (const stream of [program.stdout, program.stderr, program.channel]) stream?.resume();
      const { problem = "it ended at once" } = await program.stop(0);
      throw new ToolPreparationError(`the agent could not be started: ${problem}`);
    }
    const { kernel, policy: _, registry: __, onLog: ___, maxAgents: ____, ...context } = this.#options;
    const cancelling = new AbortController();
    const checks = Object.freeze({
      checkTool: (tool: string) => kernel.checkTool(id, String(tool)),
      checkFs: (path: string, mode: FsMode) => {
        const found = canonicalPath(String(path));
        return found !== undefined && kernel.checkFs(id, found.path, mode);
      },
      checkNet: (origin: string) => kernel.checkNet(id, String(origin)),
    });
    const calls = new AgentCalls({
      agent: id,
      kernel,
      engine: this.#engine,
      policy: this.#policy,
      context: {
        ...context,
        registry: this.#registry,
        policy: this.#policy,
        sessionId: `agent:${id}`,
        principal: checkPrincipal({ id, kind: "agent" }),
        signal: cancelling.signal,
        agent: Object.freeze({ id, pid, kernel: checks }),
      },
    });
    const onEnd = (): void => this.#forget(id, isGrantedHere);
    return new Agent({ id, pid, program, calls, cancelling, log, onEnd });
  }

  /** Grants that were given when an agent started end with it. */
  #forget(id: string, isGrantedHere: boolean): void {
    this.#agents.delete(id);
    const { sandboxes, kernel } = this.#options;
    sandboxes.endSession(`agent:${id}`);
    if (isGrantedHere) kernel.revoke(id);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const stopping = Array.from(this.#agents.values(), (agent) => agent?.stop(0));
    // Agents that are starting are ended as soon as they have started.
    await Promise.all([...stopping, ...Array.from(this.#starting, (starting) => starting.catch(() => {}))]);
    this.#stopListening();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** Directories of programs and libraries that every sandbox shows. */
const SYSTEM = /^\/(?:usr|bin|sbin|lib|lib32|lib64|libx32)\//;

/** The program of a confined agent, and the files of its own that it sees. */
export interface OwnFiles {
  readonly command: string;
  readonly fs: readonly FsGrant[];
}

/**
 * Finds the program of an agent and its files: its folder with everything below it, read-only and at its own
 * path, and the program itself unless it belongs to the system.
 *
 * @param command A path, or a name that is looked up in this process's `PATH`.
 * @param cwd The agent's folder. Default: it has none.
 * @throws {ToolPreparationError} if the program does not exist, or the folder contains more than an agent.
 */
export function ownFiles(command: string, cwd: string | undefined): OwnFiles {
  const folder = cwd === undefined ? undefined : ownFolder(cwd);
  const program = findProgram(command, folder);
  if (program === undefined) throw new ToolPreparationError(`the program '${command}' was not found`);
  const isShown = SYSTEM.test(program) || (folder !== undefined && program.startsWith(`${folder}/`));
  return {
    command: program,
    fs: [
      ...(folder === undefined ? [] : [{ directory: folder, at: folder }]),
      ...(isShown ? [] : [{ file: program, at: program }]),
    ],
  };
}

function ownFolder(cwd: string): string {
  let folder: string;
  try {
    folder = realpathSync(resolve(cwd));
  } catch {
    throw new ToolPreparationError(`the working directory '${cwd}' does not exist`);
  }
  // The agent would see everything below it.
  if (folder === "/" || `${realHome()}/`.startsWith(`${folder}/`))
    throw new ToolPreparationError(
      `a confined agent sees everything in its working directory, and '${folder}' holds a home directory: start it in a folder of its own`,
    );
  return folder;
}

function realHome(): string {
  try {
    return realpathSync(homedir());
  } catch {
    return homedir();
  }
}

/** Returns the canonical path of a program; `undefined` if it does not exist. */
function findProgram(command: string, folder: string | undefined): string | undefined {
  if (command.includes("/")) return executable(resolve(folder ?? "/", command));
  for (const directory of (process.env["PATH"] ?? "/usr/bin:/bin").split(delimiter)) {
    if (!directory.startsWith("/")) continue;
    const found = executable(join(directory, command));
    // A script outside the system needs other files, which the agent does not see.
    if (found !== undefined && (SYSTEM.test(found) || !isScript(found))) return found;
  }
  return undefined;
}

function executable(path: string): string | undefined {
  try {
    const real = realpathSync(path);
    accessSync(real, constants.X_OK);
    return statSync(real).isFile() ? real : undefined;
  } catch {
    return undefined;
  }
}

function isScript(path: string): boolean {
  const start = Buffer.alloc(2);
  const fd = openSync(path, "r");
  try {
    readSync(fd, start, 0, start.length, 0);
  } finally {
    closeSync(fd);
  }
  return start.toString("latin1") === "#!";
}
