import { posix } from "node:path";
import { escapePointer, lookUpAll, parsePointer } from "../../json/pointer.ts";
import type { JsonValue } from "../../json/value.ts";
import type { ArgumentPath, ToolAccess } from "../../tool/tool-traits.ts";

/** The input of a call in which declared paths and URLs are spelled in one way. */
export interface SpelledInput {
  /** Paths are relative to the workspace, and URLs are canonical. */
  readonly relative: JsonValue;
  /** Paths are absolute, and URLs are canonical. */
  readonly absolute: JsonValue;
}

/** The other spellings of the input of a call. */
export interface Spellings {
  readonly inputs: readonly SpelledInput[];
  /** The steps to the declared arguments, the same list for all calls of a tool. */
  readonly declared: readonly (readonly string[])[];
}

interface SpelledCall {
  readonly input: JsonValue;
  readonly workspace?: string | undefined;
  readonly paths?: readonly ArgumentPath[] | undefined;
}

/** Returns the other spellings of the input of a call; `undefined` if the call has no declared path or URL. */
export type Speller = (call: SpelledCall) => Spellings | undefined;

/**
 * Returns what finds the other spellings of a tool's input; `undefined` if none of these conditions reads an argument that
 * the tool declares as a path or URL.
 *
 * @param read The steps to the arguments that conditions read.
 */
export function spellerFor(
  { paths = [], urls = [] }: ToolAccess = {},
  read: readonly (readonly string[])[],
): Speller | undefined {
  const stepsOf = (declared: readonly { readonly argument: string }[]): (readonly string[])[] =>
    declared
      .map(({ argument }) => parsePointer(argument))
      .filter((steps) => read.some((other) => overlaps(steps, other)));
  const pathSteps = stepsOf(paths);
  const urlSteps = stepsOf(urls);
  const declaredSteps = [...pathSteps, ...urlSteps];
  if (declaredSteps.length === 0) return undefined;
  return (call) => {
    const spelled = [
      ...textsAt(call.input, pathSteps).map(([pointer, text]) => pathSpellings(pointer, text, call)),
      ...textsAt(call.input, urlSteps).map(([pointer, text]) => urlSpellings(pointer, text)),
    ];
    if (spelled.length === 0) return undefined;
    const count = Math.max(...spelled.map(({ ways }) => ways.length));
    const inputs = Array.from({ length: count }, (_, index) => inputWith(call.input, spelled, index));
    return { inputs, declared: declaredSteps };
  };
}

/** Whether what is at one pointer has, or is within, what is at another. */
export function overlaps(some: readonly string[], others: readonly string[]): boolean {
  const length = Math.min(some.length, others.length);
  return some
    .slice(0, length)
    .every((step, index) => step === "*" || others[index] === "*" || step === others[index]);
}

function textsAt(input: JsonValue, all: readonly (readonly string[])[]): (readonly [string, string])[] {
  return all.flatMap((steps) =>
    lookUpAll(input, steps).flatMap(({ pointer, value }) =>
      typeof value === "string" ? [[pointer, value] as const] : [],
    ),
  );
}

/** One argument, and each way to spell it. */
interface Spelled {
  readonly pointer: string;
  readonly ways: readonly { readonly relative: string; readonly absolute: string }[];
}

/**
 * The path as it is written, without `.`, `..` and empty names, and where the engine found that it leads. Without a workspace,
 * a path is taken for one from the root, which is where tools see their files.
 */
function pathSpellings(pointer: string, text: string, { workspace = "/", paths }: SpelledCall): Spelled {
  const relative = relativePath(text, workspace);
  const found = paths?.find(({ argument }) => argument === pointer);
  const ways = new Set([relative, ...(found === undefined ? [] : [...(found.links ?? []), found.path])]);
  return {
    pointer,
    ways: Array.from(ways, (path) => ({ relative: path, absolute: posix.join(workspace, path) })),
  };
}

function relativePath(text: string, workspace: string): string {
  const path = text.startsWith("/") ? posix.relative(workspace, text) : text;
  const normal = posix.normalize(path);
  return normal.length > 1 && normal.endsWith("/") ? normal.slice(0, -1) : normal;
}

function urlSpellings(pointer: string, text: string): Spelled {
  const url = canonicalUrl(text);
  return { pointer, ways: [{ relative: url, absolute: url }] };
}

function inputWith(input: JsonValue, spelled: readonly Spelled[], index: number): SpelledInput {
  const relative = new Map<string, string>();
  const absolute = new Map<string, string>();
  for (const { pointer, ways } of spelled) {
    const way = ways[Math.min(index, ways.length - 1)] as Spelled["ways"][number];
    relative.set(pointer, way.relative);
    absolute.set(pointer, way.absolute);
  }
  return { relative: replaced(input, relative), absolute: replaced(input, absolute) };
}

/** Returns a value with others at these pointers. What is not on the way to one stays the same object. */
function replaced(value: JsonValue, texts: ReadonlyMap<string, string>, pointer = ""): JsonValue {
  const text = texts.get(pointer);
  if (text !== undefined) return text;
  if (typeof value !== "object" || value === null) return value;
  const begin = `${pointer}/`;
  if (!texts.keys().some((each) => each.startsWith(begin))) return value;
  if (Array.isArray(value)) return value.map((item, index) => replaced(item, texts, `${begin}${index}`));
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      member === undefined ? member : replaced(member, texts, `${begin}${escapePointer(name)}`),
    ]),
  ) as JsonValue;
}

const URL_START = /^(https?):\/\/([^/?#*{[]+)(?=([/?#]|$))/i;

/**
 * Returns the one spelling of an HTTP URL, as far as its servers must read it in one way: scheme and host in lower case, the host in
 * ASCII, an IPv4 address in its usual form, and without the default port, a dot at the end of the host, `.` and `..` segments,
 * and percent-encoding where it means nothing. What is no URL stays as it is.
 */
export function canonicalUrl(text: string): string {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return text;
  const url = new URL(text);
  if (url.hostname.endsWith(".")) url.hostname = url.hostname.slice(0, -1);
  return decodeNeedless(url.href);
}

/** Returns a pattern of paths or URLs with its literal beginning as declared arguments are spelled. */
export function canonicalPattern(pattern: string): string {
  const [start, scheme = "", authority = "", end] = URL_START.exec(pattern) ?? [];
  if (start === undefined) return pattern.replace(/^(?:\.\/+)+(?=.)/, "");
  const url = `${scheme}://${authority}`.toLowerCase();
  const rest = decodeNeedless(pattern.slice(start.length));
  // Without a slash, the host may continue.
  return end !== "" && URL.canParse(url) ? `${new URL(canonicalUrl(url)).origin}${rest}` : `${url}${rest}`;
}

const ENCODED = /(?:%[0-9a-f]{2})+/gi;
/** Characters that are as they are only because they would mean something else if they were not encoded. */
const MEANINGFUL = /[\s\p{C}:/?#[\]@!$&'()*+,;=%{}|\\]/u;

function decodeNeedless(text: string): string {
  return text.replace(ENCODED, (encoded) => {
    let decoded: string;
    try {
      decoded = decodeURIComponent(encoded);
    } catch {
      return encoded.toUpperCase();
    }
    return Array.from(decoded, (each) => (MEANINGFUL.test(each) ? encodeEach(each) : each)).join("");
  });
}

function encodeEach(character: string): string {
  return Array.from(Buffer.from(character), (byte) => `%${byte.toString(16).padStart(2, "0")}`)
    .join("")
    .toUpperCase();
}

const ONLY_ASCII = /^[ -~]*$/;

/** Returns what paths have in common that are the same file where neither case nor the form of letters matters. */
export function foldPath(path: string): string {
  return ONLY_ASCII.test(path) ? path.toLowerCase() : path.normalize("NFC").toUpperCase().toLowerCase();
}
