import type { CallPlace, EngineState } from "../../engine/call/suspension.ts";
import { CanonicalJson } from "../../json/canonical.ts";
import type { JsonObject } from "../../json/value.ts";
import type { SuspendedTask } from "../../sandboxes/contract/suspension.ts";
import type { ProgramHeader } from "../stores/suspension-store.ts";
import { SuspensionRefusedError } from "./suspension-error.ts";

const ID_LENGTH = 32;

/** Returns the id of the program that a call is. */
export function programId({ sessionId, turnId, messageId, callId }: CallPlace): string {
  return new CanonicalJson([sessionId, turnId, messageId, callId]).digest.slice(0, ID_LENGTH);
}

/** What a sealed program is bound to: everything that is readable of it, but whether it waits. */
export function boundTo({ state: _, ...header }: ProgramHeader): JsonObject {
  return JSON.parse(JSON.stringify(header)) as JsonObject;
}

/** What a sealed result of a call is bound to. */
export function boundResult(
  program: Pick<ProgramHeader, "id" | "principal">,
  call: { readonly number: number; readonly digest: string },
): JsonObject {
  const { id, principal = null } = program;
  return { program: id, principal, call: call.number, digest: call.digest };
}

/** What is sealed. */
export interface ProgramContent {
  readonly engine: Omit<EngineState, "definitions" | "policyRevision">;
  readonly state: SuspendedTask["state"];
  readonly leftWaitMs: number;
  readonly heap: Uint8Array;
}

/** Writes the content of a program: the length of a JSON text, the text, and the heap. */
export function writeContent({ heap, ...rest }: ProgramContent): Uint8Array {
  const text = Buffer.from(JSON.stringify(rest));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  return Buffer.concat([length, text, heap]);
}

/** @throws {SuspensionRefusedError} if it is no content. */
export function readContent(content: Uint8Array): ProgramContent {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.length);
  try {
    const heapAt = 4 + bytes.readUInt32LE(0);
    if (heapAt > bytes.length) throw new RangeError("the text is longer than the content");
    const rest = JSON.parse(bytes.toString("utf8", 4, heapAt)) as Omit<ProgramContent, "heap">;
    return { ...rest, heap: bytes.subarray(heapAt) };
  } catch {
    throw new SuspensionRefusedError("changed");
  }
}
