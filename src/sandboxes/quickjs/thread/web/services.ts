import { loadCrypto } from "../../../../base/load-crypto.ts";
import type { JsonValue } from "../../../../json/value.ts";
import { MAX_TEXT_BYTES } from "../external-access.ts";
import { isWithinBounds, parseMessage } from "../guest-message.ts";
import { compress, decompress } from "./compression.ts";
import { useFormatter } from "./formatters.ts";
import { parseQuery, parseUrl, setUrlPart } from "./urls.ts";

/** What a web API of a guest can use besides its heap. */
export interface WebScope {
  /** `undefined` if the grant gives no random numbers: `true`, or the seed from which they follow. */
  readonly random: true | string | undefined;
  /** Whether a call runs, not a module that is being loaded. */
  readonly isCall: boolean;
  /** Receives the message of an error for want of a capability. */
  readonly logDenial: (message: string) => void;
}

/** An error that is thrown in the guest: a `TypeError`, a `RangeError` or a `DOMException` of this name. */
class WebError extends Error {
  constructor(name: string, message: string) {
    super(message);
    this.name = name;
  }
}

const TOO_LARGE = "the text or the bytes are larger than 8 MiB";

type Operation = (args: readonly unknown[], bytes: Uint8Array, scope: WebScope) => JsonValue | Uint8Array;

/** The operations by name. None keeps state between two calls, and all take time in proportion to what they are given. */
const OPERATIONS: ReadonlyMap<unknown, Operation> = new Map<unknown, Operation>([
  ["encode", ([text]) => Buffer.from(textOf(text))],
  [
    "decode",
    ([label, fatal, ignoreBOM], bytes) => decode(textOf(label), fatal === true, ignoreBOM === true, bytes),
  ],
  ["atob", ([text]) => atob(textOf(text))],
  ["btoa", ([text]) => btoa(textOf(text))],
  ["url-parse", ([url, base]) => parseUrl(textOf(url), base === null ? undefined : textOf(base))],
  ["url-set", ([href, name, value]) => setUrlPart(textOf(href), textOf(name), textOf(value))],
  ["params-parse", ([query]) => parseQuery(textOf(query))],
  ["random", ([count, drawn], _, scope) => drawRandom(Number(count), Number(drawn), scope)],
  ["digest", ([name], bytes) => digest(textOf(name), bytes)],
  ["compress", ([format], bytes) => compress(textOf(format), bytes)],
  ["decompress", ([format], bytes) => decompress(textOf(format), bytes)],
  ["intl", ([kind, locales, options, method, ...args]) => useFormatter(kind, locales, options, method, args)],
]);

/**
 * Answers a web API of the guest. Never throws.
 *
 * @param text `[operation, ...arguments]` as JSON. Untrusted.
 */
export function answerWebApi(text: string, bytes: Uint8Array, scope: WebScope): string | Uint8Array {
  if (bytes.length > MAX_TEXT_BYTES || !isWithinBounds(text, MAX_TEXT_BYTES)) {
    return failed("RangeError", TOO_LARGE);
  }
  const [name, ...args] = parseMessage(text);
  const operation = OPERATIONS.get(name);
  if (operation === undefined) return failed("TypeError", "unknown operation");
  try {
    const result = operation(args, bytes, scope);
    // The engine's library cannot create an empty buffer.
    if (result instanceof Uint8Array) return result.length === 0 ? '{"ok":""}' : result;
    return JSON.stringify({ ok: result });
  } catch (error) {
    const { name: kind, message } = error instanceof Error ? error : new Error("failed");
    return failed(kind, message);
  }
}

function failed(name: string, message: string): string {
  return JSON.stringify({ error: { name, message } });
}

function textOf(value: unknown): string {
  if (typeof value !== "string") throw new TypeError("a text was expected");
  if (value.length > MAX_TEXT_BYTES) throw new RangeError(TOO_LARGE);
  return value;
}

const ENCODINGS: ReadonlySet<string> = new Set(["utf-8", "utf-16le", "utf-16be", "windows-1252"]);

function decode(label: string, fatal: boolean, ignoreBOM: boolean, bytes: Uint8Array): string {
  if (!ENCODINGS.has(label)) throw new RangeError("the encoding is not supported");
  try {
    return new TextDecoder(label, { fatal, ignoreBOM }).decode(bytes);
  } catch {
    throw new TypeError(`The encoded data was not valid for encoding ${label}`);
  }
}

/** The most random bytes of one request. */
const MAX_RANDOM_BYTES = 65_536;

const NO_RANDOM = "crypto: this call may not draw random bytes (capabilities.random is not granted)";

/** @param drawn How many bytes the guest has drawn so far. With a seed, they follow from it and this position. */
function drawRandom(count: number, drawn: number, { random, isCall, logDenial }: WebScope): Uint8Array {
  if (!isCall) {
    throw new WebError(
      "NotAllowedError",
      "crypto: a module cannot draw random bytes while it is evaluated, only during a call: every call would have the same",
    );
  }
  if (random === undefined) {
    logDenial(NO_RANDOM);
    throw new WebError("NotAllowedError", NO_RANDOM);
  }
  if (!Number.isSafeInteger(count) || count < 0 || count > MAX_RANDOM_BYTES)
    throw new RangeError("too many random bytes");
  const { createCipheriv, createHash, randomBytes } = loadCrypto();
  if (random === true) return randomBytes(count);
  if (!Number.isSafeInteger(drawn) || drawn < 0) throw new RangeError("invalid position");
  // The key stream of a cipher whose key is the seed's digest, as for components.
  const block = Buffer.alloc(16);
  block.writeBigUInt64BE(BigInt(Math.floor(drawn / 16)), 8);
  const cipher = createCipheriv("aes-256-ctr", createHash("sha256").update(random).digest(), block);
  return cipher.update(Buffer.alloc(count + (drawn % 16))).subarray(drawn % 16);
}

const DIGESTS: ReadonlyMap<string, string> = new Map([
  ["SHA-1", "sha1"],
  ["SHA-256", "sha256"],
  ["SHA-384", "sha384"],
  ["SHA-512", "sha512"],
]);

function digest(name: string, bytes: Uint8Array): Uint8Array {
  const algorithm = DIGESTS.get(name);
  if (algorithm === undefined) throw new WebError("NotSupportedError", "the digest is not supported");
  return loadCrypto().createHash(algorithm).update(bytes).digest();
}
