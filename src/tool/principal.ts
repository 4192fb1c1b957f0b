import type { JsonObject } from "../json/value.ts";

/**
 * The caller, as the embedder or an executor authenticated it. A caller never names itself: nothing in a call or in the
 * body of a request sets it.
 */
export interface Principal {
  /** Identifies the caller: the name of a person or an agent, or the id of a key. */
  readonly id: string;
  readonly kind: "user" | "agent" | "service";
  /** Names that policies can match. Default: none. */
  readonly roles?: readonly string[];
  /** Further data for policies and tools, such as a tenant. Default: none. */
  readonly attributes?: JsonObject;
}
