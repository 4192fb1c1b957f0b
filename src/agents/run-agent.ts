import type { MaybePromise } from "../base/promises.ts";
import type { ToolDefinition } from "../engine/registered-tool.ts";
import type { Session } from "../sessions/session.ts";

/** What an agent is to do, and with what. */
export interface AgentRequest {
  /** The words of the model that has the agent run: no words of a person. */
  readonly prompt: string;
  /** The tools that the agent has, for its model. */
  readonly tools: readonly ToolDefinition[];
  /** Where the calls of the agent are dispatched. It is closed when the agent ends. */
  readonly session: Session;
  /** The most messages with calls that the agent may send. The calls of later ones are refused. */
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
