import { shorten } from "../../contract/failure.ts";
import type { ComponentValue, TaggedValue } from "../abi/value.ts";
import type { FunctionType } from "../linking/value-type.ts";
import { functionText } from "../linking/value-type.ts";

/** The interface that a component of the world `sandgate:tool` exports (`wit/tool.wit`). */
export const GUEST_INTERFACE = "sandgate:tool/guest@0.1.0";

/** The name of its exported function `call`, which runs a tool. */
export const GUEST_CALL: string = `${GUEST_INTERFACE}#call`;

/** The name of its exported function `describe`, which lists the tools. */
export const GUEST_DESCRIBE: string = `${GUEST_INTERFACE}#describe`;

const CALL_TYPE =
  "func(tool: string, input: string, ctx: record { call-id: string, wall-time-ms: option<u64> }) -> " +
  "result<string, record { code: enum { invalid-input, not-found, unavailable, internal }, message: string }>";

/** Whether a function has the type that the interface declares for `call`. */
export function isGuestCall(type: FunctionType): boolean {
  return functionText(type) === CALL_TYPE;
}

/** What a tool receives in addition to its input: the record `call-context`. */
export interface CallContext {
  readonly callId: string;
  readonly wallTimeMs: number | undefined;
}

/** Returns the arguments for `call`. */
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

/** The result of `call`: the output as JSON text, or the record `tool-error`. */
export type GuestResult =
  | { readonly status: "returned"; readonly text: string }
  | { readonly status: "tool-error"; readonly code: string; readonly message: string };

/** The longest error code that is retained, in bytes. */
const MAX_CODE_BYTES = 256;

/** Converts the value that `call` returned. */
export function readGuestResult(value: ComponentValue): GuestResult {
  const { tag, val } = value as TaggedValue;
  if (tag === "ok") return { status: "returned", text: val as string };
  const { code, message } = val as { readonly code: string; readonly message: string };
  return { status: "tool-error", code: shorten(code, MAX_CODE_BYTES), message };
}
