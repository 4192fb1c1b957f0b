import type { MaybePromise } from "../base/promises.ts";
import { MAX_DELAY_MS, race } from "../base/timers.ts";
import { type OptionNames, refuseUnknown } from "../base/unknown-names.ts";
import type { ToolDefinition } from "../engine/definition.ts";
import { Refusal } from "../engine/refusal.ts";
import { defineTool, type Tool } from "../engine/tool.ts";
import { escapeName } from "../policy/match/name-pattern.ts";
import type { HostContext, HostFactory, HostInstance } from "../tool/implementations/implementations.ts";
import { ToolFailure } from "../tool/tool-failure.ts";
import type { ToolTraits } from "../tool/tool-traits.ts";
import { pauseOf } from "../tool/wall-time.ts";
import type { AgentOptions } from "./agent-session.ts";
import type { Session } from "./session.ts";
import { TooManySessionsError } from "./session-errors.ts";
import type { Sessions } from "./sessions.ts";

/** What an agent is to do, and with what. */
export interface AgentRequest {
  /** The words of the model that has the agent run: no words of a person. */
  readonly prompt: string;
  /** The tools that the agent has, for its model. */
  readonly tools: readonly ToolDefinition[];
  /** Where the calls of the agent are dispatched. It is closed when the agent ends. */
  readonly session: Session;
  /** Maximum number of messages with calls that the agent may send. The calls of later ones are refused. */
  readonly maxIterations: number;
  /** Aborted if the call that runs the agent is cancelled or exceeds its wall time. */
  readonly signal: AbortSignal;
  /** The model that the agent is to use; absent if it is left to you. */
  readonly model?: string;
}

/**
 * Runs an agent: sends the prompt to a model, dispatches the calls of its messages in the session, and sends back their
 * results, until the model answers without calls. Resolves to its last text. An error that it throws fails the call that
 * runs the agent.
 */
export type RunAgent = (request: AgentRequest) => MaybePromise<string>;

/** Maximum number of messages with calls that an agent may send. */
const MAX_ITERATIONS = 15;

/** Milliseconds for which an agent that is cancelled is waited for, once its calls have ended. */
const STOPPED_AFTER_MS = 1_000;

/** What runs agents. */
interface AgentRunner {
  readonly sessions: () => Sessions;
  readonly runAgent: RunAgent;
  readonly model?: string | undefined;
}

/** What the model says of an agent. */
interface AgentInput {
  readonly prompt: string;
}

/** One call that runs an agent, in a session of its own that is closed when the agent ends. */
class AgentRun<Input extends AgentInput> implements HostInstance<Input> {
  readonly #runner: AgentRunner;
  readonly #optionsOf: (input: Input) => Omit<AgentOptions, "maxMessages">;
  readonly #ended: PromiseWithResolvers<void> = Promise.withResolvers();
  #session: Promise<Session> | undefined;

  /** @param optionsOf Returns what the agent is to have less of. */
  constructor(runner: AgentRunner, optionsOf: (input: Input) => Omit<AgentOptions, "maxMessages">) {
    this.#runner = runner;
    this.#optionsOf = optionsOf;
  }

  async execute(input: Input, context: HostContext): Promise<string> {
    try {
      this.#session = this.#open(input, context);
      const session = await this.#session;
      try {
        return await this.#run(input, session, context);
      } finally {
        // Also ends what the agent has left running.
        await session.close();
      }
    } finally {
      this.#ended.resolve();
    }
  }

  async #open(input: Input, context: HostContext): Promise<Session> {
    const { sessionId, turnId, messageId, callId } = context;
    const sessions = this.#runner.sessions();
    const above = sessions.get(sessionId);
    if (above === undefined) throw refused("Permission denied: agents run only in sessions");
    try {
      return await sessions.openAgent(
        above,
        { turnId, messageId, callId, pause: pauseOf(context) },
        { ...this.#optionsOf(input), maxMessages: MAX_ITERATIONS },
      );
    } catch (error) {
      if (Refusal.is(error)) throw refused(error.failure.message);
      if (!(error instanceof TooManySessionsError)) throw error;
      const message = "Too many sessions are open: wait until another agent has ended";
      throw new ToolFailure("execution_error", message, { effect: "none" });
    }
  }

  async #run({ prompt }: Input, session: Session, { signal }: HostContext): Promise<string> {
    signal.throwIfAborted();
    const { model, runAgent } = this.#runner;
    const text: unknown = await runAgent({
      prompt,
      tools: session.definitions(),
      session,
      maxIterations: MAX_ITERATIONS,
      signal,
      ...(model !== undefined && { model }),
    });
    if (typeof text === "string") return text;
    throw new ToolFailure("execution_error", "The agent ended without a text", { effect: "unknown" });
  }

  async cancel(): Promise<boolean> {
    const session = await this.#session?.catch(() => undefined);
    await session?.close();
    return (await race(this.#ended.promise, { timeoutMs: STOPPED_AFTER_MS })) !== "timeout";
  }
}

const NAMES: OptionNames<AgentToolsOptions> = {
  sessions: true,
  runAgent: true,
  worker: true,
  timeoutMs: true,
};
const WORKER_NAMES: OptionNames<WorkerOptions> = { model: true, backend: true };

/** The options of {@link agentTools}. */
export interface AgentToolsOptions {
  /** Returns the sessions in which the tools are called. It is called with each call, so that they can be opened later. */
  readonly sessions: () => Sessions;
  readonly runAgent: RunAgent;
  /** A cheaper model for questions. Default: none, and no tool `delegate_task`. */
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

/** The tag of the tools that run agents. A worker does not have them. */
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
  refuseUnknown(options, NAMES, "agentTools");
  if (worker !== undefined) refuseUnknown(worker, WORKER_NAMES, "the worker of agentTools");
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

function refused(message: string): ToolFailure {
  return new ToolFailure("permission_denied", message, { effect: "none" });
}
