/** The interface through which a component is called (`wit/tool.wit`). */
export const GUEST_INTERFACE = "sandgate:tool/guest@0.1.0";

/** Its function, as generated code exports it: a result's error is thrown. */
export interface Guest {
  call(tool: string, input: string, context: CallContext): unknown;
}

/** The record `call-context`. */
export interface CallContext {
  readonly callId: string;
  readonly wallTimeMs: bigint | undefined;
}

/** The record `tool-error`. */
export interface GuestError {
  readonly code: string;
  readonly message: string;
}

/** Tells a tool's own error from whatever else comes out of generated code. */
export function isGuestError(thrown: unknown): thrown is GuestError {
  if (typeof thrown !== "object" || thrown === null || thrown instanceof Error) return false;
  const { code, message } = thrown as Partial<Record<keyof GuestError, unknown>>;
  return typeof code === "string" && typeof message === "string";
}
