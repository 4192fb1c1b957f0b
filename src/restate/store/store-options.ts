import type { Ingress } from "../connection/ingress.ts";

/** The options of stores on Restate. */
export interface RestateStoreOptions {
  /** Reaches Restate, which must have the virtual objects registered. The store does not close it. */
  readonly ingress: Ingress;
  /**
   * What the keys of all objects of this store begin with, for several stores on one cluster of Restate. No prefix may be
   * the beginning of another one. Default: none.
   */
  readonly prefix?: string;
  /** Milliseconds for which an operation waits for its answer. Default: a minute. */
  readonly timeoutMs?: number;
}

export const DEFAULT_TIMEOUT_MS = 60_000;
