import type { Principal } from "./principal.ts";

/** What the functions of a `ProcessImplementation`, and `projectChanges`, know about a call besides its arguments. */
export interface ProgramContext {
  readonly callId: string;
  readonly sessionId: string;
  readonly toolName: string;
  readonly turnId?: string | undefined;
  /** Who calls, frozen; absent if the context does not say. */
  readonly principal?: Principal | undefined;
  /** The absolute path of the session's workspace on this machine, if it has one. */
  readonly workspace?: string | undefined;
  /** `DispatchContext.embedder`, as it is. It does not leave this process. */
  readonly embedder?: unknown;
}
