import { MAX_DELAY_MS } from "../base/timers/deadline-timer.ts";
import { defineTool, type Tool } from "../engine/tool.ts";
import { escapeName } from "../policy/match/name-pattern.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { HostFactory } from "../tool/implementations/host-implementation.ts";
import type { ToolTraits } from "../tool/tool-traits.ts";
import { type AgentInput, AgentRun, type AgentRunner } from "./agent-run.ts";
import type { RunAgent } from "./run-agent.ts";

/** The options of {@link agentTools}. */
export interface AgentToolsOptions {
  /** Returns the sessions in which the tools are called. It is called with each call, so that they can be opened later. */
  readonly sessions: () => Sessions;
  readonly runAgent: RunAgent;
  /** A cheaper model for questions. Default: there is none, and no tool `delegate_task`. */
  readonly worker?: WorkerOptions;
  /** Milliseconds of wall time of each agent: 1 to 2^31 - 1. Default: 1,800,000. */
  readonly timeoutMs?: number;
}

/** A cheaper model, which answers questions with tools that only read. */
export interface WorkerOptions {
  /** The name of the model, as `runAgent` gets it. */
  readonly model: string;
  /** The backend of the model that delegates. It is worth delegating from only while its use is paid for. */
  readonly backend: { readonly isPaid: boolean | (() => boolean) };
}

/** The tag of the tools that run agents. A worker has none of them. */
const AGENTS_TAG = "agents";
const DEFAULT_TIMEOUT_MS = 30 * 60_000;
const MAX_PROMPT_LENGTH = 100_000;
const MAX_TOOLS = 100;

/**
 * Returns tools with which a model has agents run: `spawn_agent`, and `delegate_task` if there is a worker. Each agent has a
 * session of its own, with no more than the session of the call has: see docs/agents.md.
 *
 * @throws {TypeError} if an option is invalid.
 */
export function agentTools({
  timeoutMs = DEFAULT_TIMEOUT_MS,
  ...options
}: AgentToolsOptions): readonly Tool[] {
  const { sessions, runAgent, worker } = options;
  for (const [name, given] of Object.entries({ sessions, runAgent })) {
    if (typeof given !== "function") throw new TypeError(`agentTools needs a function ${name}`);
  }
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > MAX_DELAY_MS)
    throw new TypeError(`timeoutMs must be an integer from 1 to ${MAX_DELAY_MS}`);
  const runner: AgentRunner = { sessions, runAgent };
  return worker === undefined
    ? [spawnAgent(runner, timeoutMs)]
    : [spawnAgent(runner, timeoutMs), delegateTask(runner, worker, timeoutMs)];
}

/** The call itself changes nothing: each call of the agent is decided on by itself. */
const TRAITS: ToolTraits = { sideEffects: "none", tags: [AGENTS_TAG] };

const prompt = (description: string) =>
  ({ type: "string", minLength: 1, maxLength: MAX_PROMPT_LENGTH, description }) as const;

function spawnAgent(runner: AgentRunner, timeoutMs: number): Tool {
  const host: HostFactory<AgentInput & { readonly tools?: readonly string[] }> = {
    create: () => new AgentRun(runner, ({ tools }) => (tools ? { tools: tools.map(escapeName) } : {})),
  };
  return defineTool({
    ...TRAITS,
    name: "spawn_agent",
    description:
      "Has another agent do a task, with your tools or some of them, and returns its last text. It knows only what the prompt says.",
    timeoutMs,
    inputSchema: {
      type: "object",
      properties: {
        prompt: prompt("The task, with everything that the agent needs to know"),
        tools: {
          type: "array",
          items: { type: "string", minLength: 1, maxLength: 128 },
          maxItems: MAX_TOOLS,
          description: "The names of the tools that the agent may use. Default: all of yours",
        },
      },
      required: ["prompt"],
      additionalProperties: false,
    },
    host,
  });
}

function delegateTask(runner: AgentRunner, { model, backend }: WorkerOptions, timeoutMs: number): Tool {
  if (typeof model !== "string" || model === "")
    throw new TypeError("worker.model must be the name of a model");
  const isPaid = (): boolean => {
    const { isPaid: given } = backend;
    return (typeof given === "function" ? given.call(backend) : given) === true;
  };
  const host: HostFactory<AgentInput> = {
    create: () => new AgentRun({ ...runner, model }, () => ({ hasTool: isForWorkers })),
  };
  return defineTool({
    ...TRAITS,
    name: "delegate_task",
    description:
      "Has a cheaper model answer a question, with tools that only read, and returns its answer. It knows only what the prompt says.",
    timeoutMs,
    visibleTo: isPaid,
    inputSchema: {
      type: "object",
      properties: { prompt: prompt("The question, with everything that is needed to answer it") },
      required: ["prompt"],
      additionalProperties: false,
    },
    host,
  });
}

function isForWorkers({ sideEffects, tags = [] }: ToolTraits): boolean {
  return (sideEffects === "none" || sideEffects === "read") && !tags.includes(AGENTS_TAG);
}
