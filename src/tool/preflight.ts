import type { JsonValue } from "../json/value.ts";
import type { Principal } from "./principal.ts";

/** What a tool's `preflight` knows about its call. */
export interface PreflightContext {
  /**
   * Returns why the call could not call another tool: it does not exist, or the grant does not give it. `undefined` if it
   * could; the policy decides on the call itself.
   */
  readonly refusalOf: (name: string) => string | undefined;
  /**
   * Validates arguments of another tool as a call of it would.
   *
   * @returns every problem; an empty list if there is none, or no such tool.
   */
  readonly problemsOf: (
    name: string,
    args: JsonValue,
  ) => readonly { readonly path: string; readonly message: string }[];
  /** Who calls, frozen; `undefined` if the context does not say. */
  readonly principal: Principal | undefined;
  /** `DispatchContext.embedder`, as it is. */
  readonly embedder?: unknown;
  /** Aborted if the call is cancelled; absent if it cannot be. */
  readonly signal: AbortSignal | undefined;
}
