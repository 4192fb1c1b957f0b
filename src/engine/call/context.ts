import type { RuntimePolicy } from "../../policy/policy.ts";
import type { SandboxRouter } from "../../sandboxes/contract/sandbox.ts";
import type { ToolRegistry } from "../registry.ts";
import type { EventStream } from "./events.ts";
import type { AgentHooks } from "./hooks.ts";
import type { UpperBound } from "./upper-bound.ts";

/** Everything that a dispatch needs beside its call: an engine keeps nothing. */
export interface DispatchContext {
  readonly registry: ToolRegistry;
  readonly policy: RuntimePolicy;
  readonly sandboxes: SandboxRouter;
  /** The conversation's name: policies, events and sandboxes see it. */
  readonly sessionId: string;
  readonly hooks?: AgentHooks;
  readonly events?: EventStream;
  /** Cancels the calls that are under way and those that come. */
  readonly signal?: AbortSignal;
  /** How long each hook, and the policy, may take to decide, in ms. Default: 5,000. */
  readonly decisionTimeoutMs?: number;
  /** The most that a call may have, beside what the policy grants. Default: the policy alone decides. */
  readonly upperBound?: UpperBound;
  /** Handed to host functions untouched; nothing here looks at it. */
  readonly embedder?: unknown;
}

/** Default of `DispatchContext.decisionTimeoutMs`. */
export const DEFAULT_DECISION_TIMEOUT_MS = 5_000;
