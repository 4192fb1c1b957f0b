import { adopt, isThenable } from "../../base/promises.ts";
import type { CanonicalJson } from "../../json/canonical.ts";
import type { ExecutionGrant } from "../../policy/policy.ts";
import type { LogLevel } from "../../tool/log-level.ts";
import type { ToolExecution } from "./execution.ts";

/**
 * What happens to a call, for operators: unlike an execution, `detail` may hold stacks, paths and rule names.
 * Each dispatched call ends in exactly one of `tool.completed`, `tool.failed` and `tool.aborted`; only a call
 * that reached its sandbox has a `tool.started` before it.
 */
export type DispatchEvent = DispatchEventBase & DispatchEventBody;

interface DispatchEventBase {
  readonly callId: string;
  readonly sessionId: string;
  readonly toolName: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** What is particular to each kind of event. */
export type DispatchEventBody =
  | { readonly type: "tool.aborted" }
  | {
      readonly type: "tool.started";
      readonly grant: ExecutionGrant;
      /** The validated arguments, and their digest. */
      readonly canonical: CanonicalJson;
    }
  | { readonly type: "tool.output"; readonly chunk: string }
  | { readonly type: "tool.log"; readonly level: LogLevel; readonly message: string }
  | { readonly type: "tool.completed"; readonly execution: ToolExecution }
  | { readonly type: "tool.failed"; readonly execution: ToolExecution; readonly detail?: string };

/** Gets each event, frozen. What it throws or rejects with disturbs nobody. */
export type DispatchEventListener = (event: DispatchEvent) => unknown;

/** Where events go. Without a listener none is built. */
export class EventStream {
  /** Never changed, only replaced: a listener that adds or removes one disturbs no event under way. */
  #listeners: readonly DispatchEventListener[] = [];

  /** Whether anybody listens. */
  get listening(): boolean {
    return this.#listeners.length > 0;
  }

  /** Adds a listener for every event; returns what removes it. */
  on(listener: DispatchEventListener): () => void {
    if (!this.#listeners.includes(listener)) this.#listeners = [...this.#listeners, listener];
    return () => {
      this.#listeners = this.#listeners.filter((other) => other !== listener);
    };
  }

  /** Tells every listener, in the order in which they were added. Never throws. */
  emit(event: DispatchEvent): void {
    Object.freeze(event);
    for (const listener of this.#listeners) {
      try {
        const answer = listener(event);
        // Its rejection would otherwise end the process.
        if (isThenable(answer)) adopt(answer).catch(() => {});
      } catch {
        // A listener watches; it has no say.
      }
    }
  }
}
