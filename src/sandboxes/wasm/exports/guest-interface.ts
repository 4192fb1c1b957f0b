import type { ComponentValue, TaggedValue } from "../abi/value.ts";
import type { FunctionType } from "../linking/value-type.ts";
import { functionText } from "../linking/value-type.ts";

/** The interface through which a component of the world `sandgate:tool` is called (`wit/tool.wit`). */
export const GUEST_INTERFACE = "sandgate:tool/guest@0.1.0";

/** Its function that runs a tool, among a component's exports. */
export const GUEST_CALL: string = `${GUEST_INTERFACE}#call`;

/** Its function that tells which tools there are. */
export const GUEST_DESCRIBE: string = `${GUEST_INTERFACE}#describe`;

const CALL_TYPE =
  "func(tool: string, input: string, ctx: record { call-id: string, wall-time-ms: option<u64> }) -> " +
  "result<string, record { code: enum { invalid-input, not-found, unavailable, internal }, message: string }>";

/** Whether a function is of the type that the world gives its `call`. */
export function isGuestCall(type: FunctionType): boolean {
  return functionText(type) === CALL_TYPE;
}

/** What a tool is told of its call: the record `call-context`. */
export interface CallContext {
  readonly callId: string;
  readonly wallTimeMs: number | undefined;
}

/** The arguments of `call`. */
export function guestArguments(
  tool: string,
  input: string,
  { callId, wallTimeMs }: CallContext,
): readonly ComponentValue[] {
  const context = {
    "call-id": callId.toWellFormed(),
    "wall-time-ms": wallTimeMs === undefined ? undefined : BigInt(wallTimeMs),
  };
  return [tool.toWellFormed(), input, context];
}

/** What `call` returned: the output as JSON text, or the record `tool-error`. */
export type GuestResult =
  | { readonly status: "returned"; readonly text: string }
  | { readonly status: "tool-error"; readonly code: string; readonly message: string };

/** Reads what `call` returned. */
export function readGuestResult(value: ComponentValue): GuestResult {
  const { tag, val } = value as TaggedValue;
  if (tag === "ok") return { status: "returned", text: val as string };
  const { code, message } = val as { readonly code: string; readonly message: string };
  return { status: "tool-error", code, message };
}
