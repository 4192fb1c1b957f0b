import { createReadStream } from "node:fs";
import { addAbortSignal } from "node:stream";
import { getSystemErrorMessage } from "node:util";
import { ConfigError, formatProblem } from "../config/problem.ts";
import { ConfigSource } from "../config/source.ts";
import type { ToolCall } from "../engine/call.ts";
import { locateSyntaxError } from "../json/syntax-error.ts";
import { MAX_DEPTH } from "../json/value.ts";
import { formatBytes } from "../policy/limits.ts";
import { type Protocol, ProtocolError } from "../protocols/protocol.ts";
import type { Terminal } from "./terminal.ts";

/** A message cannot be used. The text names the file and the position. */
export class InputError extends Error {
  override readonly name = "InputError";

  constructor(file: string, message: string, line = 1, column = 1) {
    super(formatProblem({ file, line, column, severity: "error", message }));
  }
}

const MAX_BYTES = 64 * 1_024 * 1_024;
/** Arguments at their deepest, and the message around them. Deeper ones could not be written back. */
const MAX_MESSAGE_DEPTH = 2 * MAX_DEPTH;

/**
 * Reads the tool calls of the message in a file; `-` is the standard input.
 *
 * @throws {InputError} when the file cannot be read, is no JSON, or has not the protocol's shape.
 * @throws an `AbortError` when the user interrupts.
 */
export async function readInputCalls(
  file: string,
  protocol: Protocol,
  terminal: Terminal,
): Promise<readonly ToolCall[]> {
  const shownAs = file === "-" ? "<stdin>" : file;
  const text = await readText(file, shownAs, terminal);
  const message = parseMessage(text, shownAs);
  try {
    return protocol.readCalls(message);
  } catch (error) {
    if (error instanceof ProtocolError) throw locateProtocolError(error, text, shownAs);
    throw error;
  }
}

async function readText(file: string, shownAs: string, { stdin, signal }: Terminal): Promise<string> {
  const stream = file === "-" ? stdin : createReadStream(file);
  if (signal !== undefined) addAbortSignal(signal, stream);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of stream) {
      const part = typeof chunk === "string" ? Buffer.from(chunk) : (chunk as Uint8Array);
      bytes += part.length;
      if (bytes > MAX_BYTES) throw new InputError(shownAs, `longer than ${formatBytes(MAX_BYTES)}`);
      chunks.push(part);
    }
  } catch (error) {
    const { errno } = error as NodeJS.ErrnoException;
    if (typeof errno !== "number") throw error;
    throw new InputError(shownAs, `cannot be read: ${getSystemErrorMessage(errno)}`);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw new InputError(shownAs, "the message is no valid UTF-8 text");
  }
}

function parseMessage(text: string, file: string): unknown {
  const refuse = (reason: string, position: number): never => {
    const before = text.slice(0, position).split("\n");
    throw new InputError(file, reason, before.length, (before.at(-1)?.length ?? 0) + 1);
  };
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    const { reason, position } = locateSyntaxError(text) ?? { reason: "it cannot be read", position: 0 };
    return refuse(`invalid JSON: ${reason}`, position);
  }
  const tooDeep = findDepth(text, MAX_MESSAGE_DEPTH + 1);
  return tooDeep === undefined ? message : refuse(`nested deeper than ${MAX_MESSAGE_DEPTH} levels`, tooDeep);
}

/** Where a valid JSON text first becomes so deep; `undefined` when it does not. */
function findDepth(text: string, wanted: number): number | undefined {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === '"') inString = !inString;
    else if (inString) at += character === "\\" ? 1 : 0;
    else if (character === "{" || character === "[") {
      if (++depth === wanted) return at;
    } else if (character === "}" || character === "]") depth--;
  }
  return undefined;
}

/** Finds the position of what a pointer names: JSON is YAML, whose reader keeps positions. */
function locateProtocolError({ pointer, message }: ProtocolError, text: string, file: string): InputError {
  try {
    // No member that a protocol names needs escapes in a pointer.
    const { line, column } = ConfigSource.parse(text, file).problem(pointer.split("/").slice(1), message);
    return new InputError(file, message, line, column);
  } catch (error) {
    // What is longer or stranger than any configuration is named without its position.
    if (error instanceof ConfigError) return new InputError(file, message);
    throw error;
  }
}
