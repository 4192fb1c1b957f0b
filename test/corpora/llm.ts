import { readFileSync } from "node:fs";
import { afterAll, describe, expect, test } from "vitest";
import type { ToolCall } from "../../src/engine/call.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { PROTOCOLS } from "../../src/protocols/by-format.ts";
import { detectMessageFormats, detectStreamFormats, type Format } from "../../src/protocols/formats.ts";
import { ProtocolError } from "../../src/protocols/parsing/shape.ts";

/** A recorded response, and the calls that are known to be in it. */
interface Recording {
  readonly file: string;
  readonly format: string;
  readonly stream: boolean;
  readonly calls: readonly KnownCall[];
}

interface KnownCall {
  readonly id: string | null;
  readonly name: string;
  /** As the model wrote them, or written anew where the response has them as a value. */
  readonly raw: string;
  readonly arguments: unknown;
}

const FORMATS: Readonly<Record<string, Format>> = {
  "openai-chat": "openai",
  "openai-responses": "openai-responses",
  "anthropic-messages": "anthropic",
  "google-generate": "google",
  "cohere-v2": "cohere",
  "bedrock-converse": "bedrock",
};
/** Files up to this many bytes are cut in two at every byte; every file is fed byte by byte. */
const MAX_CUT_BYTES = 16 * 1_024;

const folder = `${process.env["SANDGATE_CORPORA"]}/llm`;
const recordings = JSON.parse(readFileSync(`${folder}/INDEX.json`, "utf8")) as readonly Recording[];
const known = recordings.filter(({ format }) => FORMATS[format] !== undefined);
const registry = new ToolRegistry();
const bytesOf = ({ file }: Recording): Buffer => readFileSync(`${folder}/files/${file}`);
const protocolOf = ({ format }: Recording) => PROTOCOLS[FORMATS[format] ?? "native"](registry);

let listed = 0;
let found = 0;
let cuts = 0;
const beyond: string[] = [];

afterAll(() => {
  const unknown = recordings.length - known.length;
  console.log(
    `llm: ${known.length} of ${recordings.length} recordings read, ${found} of ${listed} calls found`,
  );
  console.log(`llm: streams cut in two at ${cuts} places, and each fed byte by byte`);
  if (unknown > 0) console.log(`llm: ${unknown} recordings of formats that nothing here reads`);
  for (const line of beyond) console.log(`llm: ${line}`);
});

/** Reads a stream from pieces; the provider's own report of an error ends it. */
function readPieces(recording: Recording, pieces: Iterable<Uint8Array>): readonly ToolCall[] {
  const stream = protocolOf(recording).stream();
  const calls: ToolCall[] = [];
  try {
    for (const piece of pieces) calls.push(...stream.push(piece));
    calls.push(...stream.end());
  } catch (error) {
    if (!(error instanceof ProtocolError) || error.reason !== "reports a provider error") throw error;
  }
  return calls;
}

/** Holds calls against those that are known, byte for byte where the response has them as text. */
function check(recording: Recording, calls: readonly ToolCall[]): void {
  // Some recordings have calls that their index does not list: those of a message that goes on, and those whose
  // arguments come in parts. Those that it lists are there, in order.
  let next = 0;
  for (const call of recording.calls) {
    const position = calls.findIndex((candidate, index) => index >= next && matches(candidate, call));
    expect(position, `${call.name} ${call.raw}`).toBeGreaterThanOrEqual(next);
    next = position + 1;
  }
}

function matches(call: ToolCall, { id, name, raw, arguments: args }: KnownCall): boolean {
  if (call.name !== name || (id !== null && call.id !== id)) return false;
  // Arguments that a server left out are read as an empty object.
  if (raw === "" || raw === "null") return call.arguments === "{}";
  if (typeof call.arguments === "string") return call.arguments === raw;
  return JSON.stringify(call.arguments) === JSON.stringify(args);
}

const shape = (calls: readonly ToolCall[]): unknown =>
  calls.map(({ id, ...call }) => ({ ...call, id: id.startsWith("sandgate-") ? "made up" : id }));

describe("recorded responses, whole", () => {
  test.each(known.filter(({ stream }) => !stream))("$file", (recording) => {
    const message: unknown = JSON.parse(bytesOf(recording).toString("utf8"));
    expect(detectMessageFormats(message)).toEqual([FORMATS[recording.format]]);
    const { calls } = protocolOf(recording).read(message);
    listed += recording.calls.length;
    check(recording, calls);
    found += recording.calls.length;
    expect(calls).toHaveLength(recording.calls.length);
  });
});

describe("recorded streams, cut at every byte", () => {
  test.each(known.filter(({ stream }) => stream))("$file", (recording) => {
    const bytes = bytesOf(recording);
    const lines = bytes.toString("utf8").match(/\{.*\}/g) ?? [];
    expect(detectStreamFormats(lines.map((line) => JSON.parse(line)))).toEqual([FORMATS[recording.format]]);
    const calls = readPieces(recording, [bytes]);
    listed += recording.calls.length;
    check(recording, calls);
    found += recording.calls.length;
    if (calls.length !== recording.calls.length) {
      beyond.push(`${recording.file}: ${calls.length} calls read, ${recording.calls.length} listed`);
    }
    const whole = shape(calls);
    const single = Array.from(bytes, (_, index) => bytes.subarray(index, index + 1));
    expect(shape(readPieces(recording, single))).toEqual(whole);
    if (bytes.length > MAX_CUT_BYTES) return;
    for (let at = 1; at < bytes.length; at++, cuts++) {
      expect(shape(readPieces(recording, [bytes.subarray(0, at), bytes.subarray(at)]))).toEqual(whole);
    }
  });
});
