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
  /** Identifies the conversation to hooks, policies, sandboxes and listeners. */
  readonly sessionId: string;
  readonly hooks?: AgentHooks;
  readonly events?: EventStream;
  /** Cancels the running calls and all later ones. */
  readonly signal?: AbortSignal;
  /** Milliseconds that each hook and the policy may take to decide. Default: 5,000. */
  readonly decisionTimeoutMs?: number;
  /** Limits and capabilities that no call may exceed, whatever the policy grants. Default: no bound. */
  readonly upperBound?: UpperBound;
  /** Handed to host functions untouched; nothing here looks at it. */
  readonly embedder?: unknown;
}

/** Default of `DispatchContext.decisionTimeoutMs`. */
export const DEFAULT_DECISION_TIMEOUT_MS = 5_000;
