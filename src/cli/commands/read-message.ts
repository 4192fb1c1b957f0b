import { createReadStream } from "node:fs";
import { addAbortSignal } from "node:stream";
import { getSystemErrorMessage } from "node:util";
import { formatBytes } from "../../base/units.ts";
import { ConfigError } from "../../config/problem.ts";
import { ConfigSource } from "../../config/source.ts";
import type { ToolRegistry } from "../../engine/registry.ts";
import { locateSyntaxError } from "../../json/syntax-error.ts";
import { PROTOCOLS } from "../../protocols/by-format.ts";
import { EventParser } from "../../protocols/event-parser.ts";
import { detectMessageFormats, detectStreamFormats, FORMATS, type Format } from "../../protocols/formats.ts";
import { findExcessiveDepth, MAX_MESSAGE_DEPTH } from "../../protocols/parsing/limits.ts";
import { ProtocolError } from "../../protocols/parsing/shape.ts";
import type { ProviderProtocol } from "../../protocols/protocol.ts";
import type { AssistantTurn } from "../../protocols/turn.ts";
import { MessageError } from "../errors.ts";
import { showProblem, type Terminal } from "../terminal.ts";

const MAX_BYTES = 64 * 1_024 * 1_024;

/** An assistant's message, and the protocol of its format. */
export interface InputMessage extends AssistantTurn {
  readonly protocol: ProviderProtocol;
}

/**
 * Reads an assistant's message from a file, either whole or as a recorded stream; `-` is standard input.
 *
 * @param format `auto` detects the format.
 * @throws {MessageError} if the file cannot be read, is not JSON, does not match the format, or matches several.
 * @throws an `AbortError` if the user interrupts.
 */
export async function readMessage(
  file: string,
  format: Format | "auto",
  registry: ToolRegistry,
  terminal: Terminal,
): Promise<InputMessage> {
  const shownAs = file === "-" ? "<stdin>" : file;
  const text = await readText(file, shownAs, terminal);
  try {
    return isStream(text) ? readStream(text) : readWhole(parseMessage(text, shownAs));
  } catch (error) {
    if (error instanceof ProtocolError) throw locateProtocolError(error, text, shownAs);
    throw error;
  }

  function readWhole(message: unknown): InputMessage {
    const formats = detectMessageFormats(message);
    // A stream of a single event is a whole JSON text, too.
    if (format === "auto" && formats.length === 0 && detectStreamFormats([message]).length > 0) {
      return readStream(text);
    }
    const protocol = PROTOCOLS[choose(format, formats, shownAs)](registry);
    // The text, as its numbers may not survive parsing.
    return { protocol, ...protocol.read(text) };
  }

  function readStream(events: string): InputMessage {
    const chosen =
      format === "auto" ? choose(format, detectStreamFormats(parseEvents(events)), shownAs) : format;
    const protocol = PROTOCOLS[chosen](registry);
    const stream = protocol.stream();
    const calls = [...stream.push(events), ...stream.end()];
    const { text: said, other, stopReason, cutOff } = stream;
    return { protocol, calls, text: said, other, stopReason, cutOff };
  }
}

/** Returns whether a text is a stream: server-sent events or JSON lines. */
function isStream(text: string): boolean {
  if (/^\s*(?:data|event|id|retry)?:/.test(text)) return true;
  const trimmed = text.trim();
  const lineEnd = trimmed.indexOf("\n");
  if (lineEnd < 0) return false;
  try {
    JSON.parse(trimmed.slice(0, lineEnd));
    return true;
  } catch {
    return false;
  }
}

/** Parses the valid events. Errors are reported later, when the stream is read. */
function parseEvents(text: string): readonly unknown[] {
  const parser = new EventParser();
  return [...parser.push(text), ...parser.end()].flatMap((event) => {
    try {
      return [JSON.parse(event) as unknown];
    } catch {
      return [];
    }
  });
}

function choose(format: Format | "auto", found: readonly Format[], file: string): Format {
  if (format !== "auto") return format;
  const [only, ...others] = found;
  if (only !== undefined && others.length === 0) return only;
  throw messageError(
    file,
    only === undefined
      ? `unrecognised message format: --format takes ${FORMATS.join(", ")}`
      : `the message matches several formats (${found.join(", ")}): choose one with --format`,
  );
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
      if (bytes > MAX_BYTES)
        throw messageError(shownAs, `the message is longer than ${formatBytes(MAX_BYTES)}`);
      chunks.push(part);
    }
  } catch (error) {
    const { errno } = error as NodeJS.ErrnoException;
    if (typeof errno !== "number") throw error;
    throw messageError(shownAs, `the file cannot be read: ${getSystemErrorMessage(errno)}`);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw messageError(shownAs, "the message is not valid UTF-8");
  }
}

function parseMessage(text: string, file: string): unknown {
  const refuse = (reason: string, position: number): never => {
    const before = text.slice(0, position).split("\n");
    throw messageError(file, reason, before.length, (before.at(-1)?.length ?? 0) + 1);
  };
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    const { reason, position } = locateSyntaxError(text) ?? { reason: "it cannot be parsed", position: 0 };
    return refuse(`invalid JSON: ${reason}`, position);
  }
  const tooDeep = findExcessiveDepth(text);
  return tooDeep === undefined ? message : refuse(`nested deeper than ${MAX_MESSAGE_DEPTH} levels`, tooDeep);
}

/** Finds the position of an error's pointer. JSON is also YAML, and the YAML reader has positions. */
function locateProtocolError(
  { pointer, message, event }: ProtocolError,
  text: string,
  file: string,
): MessageError {
  // The error message has the number of the event.
  if (event !== undefined) return messageError(file, message);
  try {
    // The member names of the protocols need no escapes in a pointer.
    const { line, column } = ConfigSource.parse(text, file).problem(pointer.split("/").slice(1), message);
    return messageError(file, message, line, column);
  } catch (error) {
    // The text is not valid for the YAML reader, such as too long: the error has no position.
    if (error instanceof ConfigError) return messageError(file, message);
    throw error;
  }
}

/** An error whose text names the file and the position, in the form of configuration problems. */
function messageError(file: string, message: string, line = 1, column = 1): MessageError {
  return new MessageError(showProblem({ file, line, column, severity: "error", message }));
}
