import type { MessagePort } from "node:worker_threads";
import type { ThreadMessage } from "../thread-message.ts";

/** A task, as it is sent to a thread of Piscina. */
export interface PiscinaTask {
  /** The module whose default export runs it. */
  readonly entry: string;
  readonly fields: unknown;
  /** The thread's end of a channel for what it reports meanwhile. */
  readonly port: MessagePort;
}

/**
 * The reports of a thread about its task, in this order: that it received the task, that the work starts, and
 * output and log lines.
 */
export type PiscinaReport =
  | { readonly type: "taken" }
  | { readonly type: "started" /** From `process.hrtime.bigint()`. */; readonly at: bigint }
  | ThreadMessage;

/** How the task ended. */
export type PiscinaAnswer = { readonly wallTimeMs: number } & (
  | { readonly status: "returned"; readonly result: unknown }
  | { readonly status: "threw"; readonly error: Error }
);
