import { race } from "../base/timers/race.ts";
import { Refusal } from "../engine/failure/refusal.ts";
import type { AgentOptions } from "../sessions/agents/open-agent.ts";
import type { Session } from "../sessions/session.ts";
import { TooManySessionsError } from "../sessions/session-errors.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { HostContext, HostInstance } from "../tool/implementations/host-implementation.ts";
import { ToolFailure } from "../tool/tool-failure.ts";
import { pauseOf } from "../tool/wall-time.ts";
import type { RunAgent } from "./run-agent.ts";

/** The most messages with calls that an agent may send. */
const MAX_ITERATIONS = 15;

/** Milliseconds for which an agent that is cancelled is waited for, once its calls have ended. */
const STOPPED_AFTER_MS = 1_000;

/** What runs agents. */
export interface AgentRunner {
  readonly sessions: () => Sessions;
  readonly runAgent: RunAgent;
  readonly model?: string | undefined;
}

/** What the model says of an agent. */
export interface AgentInput {
  readonly prompt: string;
}

/** One call that runs an agent, in a session of its own that is closed when the agent ends. */
export class AgentRun<Input extends AgentInput> implements HostInstance<Input> {
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
      ...{ prompt, tools: session.definitions(), session, maxIterations: MAX_ITERATIONS, signal },
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

function refused(message: string): ToolFailure {
  return new ToolFailure("permission_denied", message, { effect: "none" });
}
