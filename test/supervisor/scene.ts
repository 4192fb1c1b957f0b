import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { defineTool, type Tool } from "../../src/engine/tool.ts";
import { openJournal } from "../../src/journal/journal.ts";
import { readJournal } from "../../src/journal/read/read-journal.ts";
import type { AgentCapabilities } from "../../src/policy/agent-capabilities.ts";
import { CapabilityKernel } from "../../src/policy/capability-kernel.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import type { AgentEnd } from "../../src/supervisor/agent.ts";
import type { AgentLogLine } from "../../src/supervisor/agent-log.ts";
import {
  type AgentOptions,
  openSupervisor,
  type SupervisorOptions,
} from "../../src/supervisor/supervisor.ts";
import { registerBasicTools } from "../../src/toolsets/toolsets.ts";
import { ISOLATIONS } from "../sandboxes/process/availability.ts";

export const AGENTS: string = join(import.meta.dirname, "agents");

/** The best that this machine has. */
const [isolation] = ISOLATIONS;
if (isolation === undefined) console.warn("Agents are not confined in tests about other things");

/** An answer as it comes over the wire. */
export interface WireAnswer {
  readonly op: string;
  readonly tool_call_id: string;
  readonly ok: boolean;
  readonly result?: unknown;
  readonly error?: string;
  readonly message?: string;
  readonly metadata?: { readonly durationMs: number };
}

/** What an agent of a test did. */
export interface Played {
  readonly end: AgentEnd;
  readonly answers: readonly WireAnswer[];
  readonly log: readonly AgentLogLine[];
  /** The records of the journal. */
  readonly records: readonly Readonly<Record<string, unknown>>[];
}

const throwing = defineTool({
  name: "throwing",
  description: "Throws.",
  inputSchema: { type: "object" },
  host: () => {
    throw new Error("the tool broke");
  },
});

/** Runs until it is cancelled. */
const waiting = defineTool({
  name: "wait",
  description: "Waits.",
  inputSchema: { type: "object" },
  host: (_input, { signal }) =>
    new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("cancelled")))),
});

const aware = defineTool({
  name: "aware",
  description: "Says who calls, and what the kernel allows.",
  inputSchema: { type: "object" },
  host: (_input, { agent, kernel }) => ({
    agent: agent?.id ?? null,
    hasPid: typeof agent?.pid === "number",
    tool: kernel?.checkTool("Echo") ?? null,
    otherTool: kernel?.checkTool("other") ?? null,
    fs: kernel?.checkFs("/etc/passwd", "r") ?? null,
    net: kernel?.checkNet("https://example.com") ?? null,
  }),
});

/** A supervisor with a journal, and agents of the tests. */
export class SupervisorScene implements AsyncDisposable {
  readonly kernel: CapabilityKernel = new CapabilityKernel();
  readonly registry: ToolRegistry = new ToolRegistry();
  readonly log: AgentLogLine[] = [];
  readonly directory: string = realpathSync(mkdtempSync(join(tmpdir(), "sandgate-supervisor-")));
  /** A folder for capabilities. */
  readonly granted: string = join(this.directory, "granted");
  readonly journalDirectory: string;
  readonly supervisor: ReturnType<typeof openSupervisor>;
  readonly #journal: Awaited<ReturnType<typeof openJournal>>;
  readonly #sandboxes: Awaited<ReturnType<typeof openSandboxes>>;

  static async open(options: Partial<SupervisorOptions> = {}): Promise<SupervisorScene> {
    const directory = mkdtempSync(join(tmpdir(), "sandgate-journal-"));
    // Agents that are confined in the way that was asked for get no note about that in their logs.
    const sandboxes = await openSandboxes(isolation && { process: { isolation } });
    return new SupervisorScene(sandboxes, await openJournal({ directory }), directory, options);
  }

  private constructor(
    sandboxes: Awaited<ReturnType<typeof openSandboxes>>,
    journal: Awaited<ReturnType<typeof openJournal>>,
    directory: string,
    options: Partial<SupervisorOptions>,
  ) {
    this.journalDirectory = directory;
    this.#sandboxes = sandboxes;
    this.#journal = journal;
    mkdirSync(this.granted);
    registerBasicTools(this.registry);
    for (const tool of [throwing, waiting, aware] as Tool[]) this.registry.register(tool);
    this.supervisor = openSupervisor({
      registry: this.registry,
      kernel: this.kernel,
      sandboxes,
      journal,
      onLog: (line) => this.log.push(line),
      ...options,
    });
  }

  /** Starts the agent of the tests in a mode. */
  start(mode: string, options: Partial<AgentOptions> = {}): ReturnType<typeof this.supervisor.start> {
    const { env, ...others } = options;
    return this.supervisor.start({
      command: process.execPath,
      args: ["--no-warnings", join(AGENTS, "agent.ts")],
      cwd: AGENTS,
      env: { SANDGATE_AGENT: mode, ...env },
      confinement: isolation === undefined ? "none" : "process",
      ...others,
    });
  }

  /** Runs the agent of the tests to its end. */
  async play(
    mode: string,
    capabilities: AgentCapabilities,
    options: Partial<AgentOptions> = {},
  ): Promise<Played> {
    const from = this.log.length;
    const agent = await this.start(mode, { capabilities, ...options });
    const end = await agent.wait();
    const log = this.log.slice(from).filter((line) => line.agent === agent.id);
    return { end, log, answers: log.flatMap(({ text }) => readAnswer(text)), records: await this.records() };
  }

  async records(): Promise<readonly Readonly<Record<string, unknown>>[]> {
    await this.#journal.flush();
    const records: Readonly<Record<string, unknown>>[] = [];
    for await (const { entries } of readJournal(this.journalDirectory)) records.push(...entries);
    return records;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.supervisor.close();
    await this.#sandboxes.close();
    await this.#journal.close();
    rmSync(this.directory, { recursive: true, force: true });
    rmSync(this.journalDirectory, { recursive: true, force: true });
  }
}

function readAnswer(text: string): readonly WireAnswer[] {
  try {
    const answer = JSON.parse(text) as WireAnswer;
    return answer.op === "tool_response" ? [answer] : [];
  } catch {
    return [];
  }
}
