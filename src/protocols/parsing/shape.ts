import { SandgateError } from "../../base/thrown.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";

/** Thrown if a message or a stream does not match its format, or exceeds a bound. */
export class ProtocolError extends SandgateError {
  override readonly name = "ProtocolError";
  override readonly code = "invalid_message";
  /** The JSON pointer (RFC 6901) of the invalid value; `""` is the message or event itself. */
  readonly pointer: string;
  /** For example `must be a string`. It repeats nothing from the message. */
  readonly reason: string;
  /** The number of the event in its stream, from 1; `undefined` outside of events. */
  readonly event: number | undefined;

  constructor(pointer: string, reason: string, event?: number) {
    const subject = pointer === "" ? (event === undefined ? "the message" : "it") : pointer;
    super(`${event === undefined ? "" : `event ${event}: `}${subject} ${reason}`);
    this.pointer = pointer;
    this.reason = reason;
    this.event = event;
  }
}

/** Returns the error for a provider's error event. It does not repeat the provider's text, which is untrusted. */
export function providerFailure(pointer: string): ProtocolError {
  return new ProtocolError(pointer, "reports a provider error");
}

/** @throws {ProtocolError} unless the value at `pointer` is an object. */
export function expectObject(value: unknown, pointer: string): JsonObject {
  if (isJsonObject(value)) return value;
  throw new ProtocolError(pointer, "must be an object");
}

/** @throws {ProtocolError} unless the value at `pointer` is a list. */
export function expectArray(value: unknown, pointer: string): readonly JsonValue[] {
  if (Array.isArray(value)) return value;
  throw new ProtocolError(pointer, "must be a list");
}

/** @throws {ProtocolError} unless the value at `pointer` is a list of objects. */
export function expectObjects(value: unknown, pointer: string): readonly JsonObject[] {
  return expectArray(value, pointer).map((item, index) => expectObject(item, `${pointer}/${index}`));
}

/** @throws {ProtocolError} unless the value at `pointer` is a string. */
export function expectString(value: unknown, pointer: string): string {
  if (typeof value === "string") return value;
  throw new ProtocolError(pointer, "must be a string");
}

/** @throws {ProtocolError} unless the value at `pointer` is a number. */
export function expectNumber(value: unknown, pointer: string): number {
  if (typeof value === "number") return value;
  throw new ProtocolError(pointer, "must be a number");
}

/**
 * Checks that a message is an assistant's. Calls in any other message must not run.
 *
 * @throws {ProtocolError} unless `value` is an object whose `role` is `"assistant"`.
 */
export function expectAssistantMessage(value: unknown, pointer: string): JsonObject {
  const message = expectObject(value, pointer);
  if (message["role"] === "assistant") return message;
  throw new ProtocolError(`${pointer}/role`, 'must be "assistant"');
}

/** The prefix of generated ids. */
const MADE_UP = "sandgate-";

/** Reads the id of a call: `""` if the server omits it. @throws {ProtocolError} if it is not a string. */
export function readId(value: unknown, pointer: string): string {
  return value === undefined || value === null ? "" : expectString(value, pointer);
}

/** Generates an id for a call that has none. It has the 40 characters that the shortest limit of a provider allows. */
export function makeUpId(): string {
  return MADE_UP + crypto.randomUUID().replaceAll("-", "").slice(1);
}

/** Returns whether {@link makeUpId} generated an id. */
export function isMadeUp(id: string): boolean {
  return id.startsWith(MADE_UP);
}

/** Reads why a message stopped. */
export function readReason(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Returns the text of a string or of a list of parts. */
export function readContentText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((part: unknown) => (isJsonObject(part) && typeof part["text"] === "string" ? part["text"] : ""))
    .join("");
}
