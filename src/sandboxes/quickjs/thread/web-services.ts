import type { ZlibOptions } from "node:zlib";
import { loadCrypto } from "../../../base/load-crypto.ts";
import type { JsonValue } from "../../../json/value.ts";
import { MAX_TEXT_BYTES } from "./external-access.ts";
import { useFormatter } from "./formatters.ts";
import { isWithinBounds, MAX_PIECE_LENGTH, parseMessage } from "./guest-message.ts";

/**
 * Maximum number of bytes to compress or decompress at once. Node.js can be interrupted only after each 16
 * KiB that it returns, and compressed data can have any number of blocks that contain nothing.
 */
const MAX_INPUT_BYTES = 2 * 1_024 * 1_024;

/** Above this level, bytes of few different values take about 300 ms a MiB; at this one, any take at most 60. */
const LEVEL = 4;

/** Loaded on first use: a thread that never compresses starts faster. */
const zlib = (): typeof import("node:zlib") => process.getBuiltinModule("node:zlib");

/** The parts of a URL, as the interface `URL` has them. */
type UrlParts = Readonly<Record<(typeof PARTS)[number], string>>;

const PARTS = [
  "href",
  "origin",
  "protocol",
  "username",
  "password",
  "host",
  "hostname",
  "port",
  "pathname",
  "search",
  "hash",
] as const;

const SETTABLE: ReadonlySet<string> = new Set(PARTS.filter((part) => part !== "origin" && part !== "href"));

/**
 * Maximum number of characters of a URL, which the parser takes a few milliseconds for, whatever they are.
 */
const MAX_LENGTH = 65_536;

/** What a web API of a guest can use outside its heap. */
export interface WebScope {
  /** `undefined` if the grant gives no random numbers: `true`, or the seed from which they follow. */
  readonly random: true | string | undefined;
  /** Whether a call runs, not a module that is being loaded. */
  readonly isCall: boolean;
  /** Whether the guest's time is over. */
  readonly isOver: () => boolean;
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

const TOO_LONG =
  "this is too much at once: a text can have at most 65,536 characters, and a list of a formatter 700 items";

/** Returns `undefined` if the guest's time was over before the end. */
type Operation = (
  args: readonly unknown[],
  bytes: Uint8Array,
  scope: WebScope,
) => JsonValue | Uint8Array | undefined;

/**
 * The operations by name. They have no state between calls. Work of Node.js cannot be interrupted, so each
 * operation is bounded to a few milliseconds: a guest sends long texts and bytes in pieces, and its deadline
 * is checked before each. `test/guests/host-work/cases.ts` has hostile values for each operation.
 */
export const WEB_OPERATIONS: ReadonlyMap<unknown, Operation> = new Map<unknown, Operation>([
  ["encode", ([text]) => Buffer.from(textOf(text))],
  [
    "decode",
    ([label, fatal, ignoreBOM], bytes) => decode(textOf(label), fatal === true, ignoreBOM === true, bytes),
  ],
  ["atob", ([text]) => atob(textOf(text))],
  ["btoa", ([text]) => btoa(textOf(text))],
  ["url-parse", ([url, base]) => parseUrl(textOf(url), base === null ? undefined : textOf(base))],
  ["url-set", ([href, name, value]) => setUrlPart(textOf(href), textOf(name), textOf(value))],
  ["random", ([count, drawn], _, scope) => drawRandom(Number(count), Number(drawn), scope)],
  ["digest", ([name], bytes, scope) => digest(textOf(name), bytes, scope)],
  ["compress", ([format], bytes) => compress(textOf(format), bytes)],
  ["decompress", ([format], bytes) => decompress(textOf(format), bytes)],
  ["intl", ([kind, locales, options, method, ...args]) => useFormatter(kind, locales, options, method, args)],
]);

/**
 * Answers a web API of the guest; `undefined` if its time is over. Never throws.
 *
 * @param text `[operation, ...arguments]` as JSON. Untrusted.
 */
export function answerWebApi(
  text: string,
  bytes: Uint8Array,
  scope: WebScope,
): string | Uint8Array | undefined {
  if (bytes.length > MAX_TEXT_BYTES) return failed("RangeError", "the bytes are larger than 8 MiB");
  // A URL and its base, or two texts to compare.
  if (!isWithinBounds(text, 2 * MAX_PIECE_LENGTH)) return failed("RangeError", TOO_LONG);
  const [name, ...args] = parseMessage(text);
  const operation = WEB_OPERATIONS.get(name);
  if (operation === undefined) return failed("TypeError", "unknown operation");
  try {
    const result = operation(args, bytes, scope);
    if (result === undefined) return undefined;
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
  if (value.length > MAX_PIECE_LENGTH) throw new RangeError("the text is longer than 65,536 characters");
  return value;
}

/** How many bytes are decoded at once, which takes a few milliseconds, whatever they are. */
const MAX_DECODED_BYTES = 524_288;

const ENCODINGS: ReadonlySet<string> = new Set(["utf-8", "utf-16le", "utf-16be", "windows-1252"]);

function decode(label: string, fatal: boolean, ignoreBOM: boolean, bytes: Uint8Array): string {
  if (!ENCODINGS.has(label)) throw new RangeError("the encoding is not supported");
  if (bytes.length > MAX_DECODED_BYTES) throw new RangeError("the bytes are more than 524,288");
  try {
    return new TextDecoder(label, { fatal, ignoreBOM }).decode(bytes);
  } catch {
    throw new TypeError(`The encoded data was not valid for encoding ${label}`);
  }
}

/** Maximum number of random bytes of one request. */
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

/** How many bytes are digested before the deadline is checked. */
const DIGEST_PIECE = 1_024 * 1_024;

function digest(name: string, bytes: Uint8Array, { isOver }: WebScope): Uint8Array | undefined {
  const algorithm = DIGESTS.get(name);
  if (algorithm === undefined) throw new WebError("NotSupportedError", "the digest is not supported");
  const hash = loadCrypto().createHash(algorithm);
  for (let start = 0; start < bytes.length; start += DIGEST_PIECE) {
    if (isOver()) return undefined;
    hash.update(bytes.subarray(start, start + DIGEST_PIECE));
  }
  return hash.digest();
}

/**
 * Parses a URL (WHATWG URL, section 4.4). Returns `null` if it is invalid.
 *
 * @throws {RangeError} if it is too long.
 */
function parseUrl(url: string, base: string | undefined): UrlParts | null {
  check(url, base ?? "");
  const parsed = URL.parse(url, base);
  return parsed && partsOf(parsed);
}

/** Sets a part of a URL as the interface's setters do. Returns `null` if the URL is invalid. */
function setUrlPart(href: string, part: string, value: string): UrlParts | null {
  check(href, value);
  const url = URL.parse(href);
  if (url === null || !SETTABLE.has(part)) return null;
  url[part as "hash"] = value;
  return partsOf(url);
}

function check(...texts: readonly string[]): void {
  if (texts.some(({ length }) => length > MAX_LENGTH))
    throw new RangeError("the URL is longer than 65,536 characters");
}

function partsOf(url: URL): UrlParts {
  return Object.fromEntries(PARTS.map((part) => [part, url[part]])) as UrlParts;
}

/**
 * Compresses bytes (Compression Streams, section 4).
 *
 * @throws {RangeError} for more than 2 MiB.
 */
function compress(format: string, bytes: Uint8Array): Uint8Array {
  if (bytes.length > MAX_INPUT_BYTES) {
    throw new RangeError("a CompressionStream can compress at most 2 MiB");
  }
  const { gzipSync, deflateSync, deflateRawSync } = zlib();
  switch (format) {
    case "gzip":
      return gzipSync(bytes, { level: LEVEL });
    case "deflate":
      return deflateSync(bytes, { level: LEVEL });
    default:
      return deflateRawSync(bytes, { level: LEVEL });
  }
}

/**
 * Decompresses bytes.
 *
 * @throws {RangeError} for more than 2 MiB, and if the result has more than 8 MiB.
 * @throws {TypeError} if the bytes are invalid.
 */
function decompress(format: string, bytes: Uint8Array): Uint8Array {
  if (bytes.length > MAX_INPUT_BYTES) {
    throw new RangeError("a DecompressionStream can take at most 2 MiB");
  }
  const { gunzipSync, inflateSync, inflateRawSync } = zlib();
  const options: ZlibOptions = { maxOutputLength: MAX_TEXT_BYTES };
  try {
    switch (format) {
      case "gzip":
        return gunzipSync(bytes, options);
      case "deflate":
        return inflateSync(bytes, options);
      default:
        return inflateRawSync(bytes, options);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") {
      throw new RangeError("a DecompressionStream can return at most 8 MiB");
    }
    throw new TypeError("the compressed data is invalid");
  }
}
