import { isAbsolute } from "node:path";
import { methodProblem } from "../base/http-syntax.ts";
import { MAX_DELAY_MS } from "../base/timers.ts";
import { suggest } from "../base/unknown-names.ts";
import { POINTER_PATTERN } from "../json/pointer.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/value.ts";
import { BODY_FORMATS, compileHeaders, compileUrl, parseHttpUrl, TemplateError } from "./http-template.ts";
import { sandboxesOf, type ToolImplementations } from "./implementations/implementations.ts";
import { isProgramText, processProblem } from "./implementations/process-implementation.ts";
import { parseExecutors } from "./implementations/remote-implementation.ts";
import { SANDBOX_MODES, type SandboxMode } from "./sandbox-mode.ts";
import { SIDE_EFFECTS } from "./side-effects.ts";
import type { ToolTraits } from "./tool-traits.ts";

type Check = readonly [isValid: (value: unknown) => boolean, requirement: string];

/** A record, so the compiler reports a trait without a check. The schemas are checked when they are compiled. */
const TRAIT_CHECKS: Record<keyof ToolTraits, Check> = {
  sideEffects: oneOf(SIDE_EFFECTS),
  title: [(value) => typeof value === "string", "must be a string"],
  tags: [
    (value) => isListOf(value, (tag) => typeof tag === "string" && tag !== ""),
    "must be a list of strings",
  ],
  outputSchema: [isJsonObject, "must be an object"],
  annotations: [isJsonObject, "must be an object"],
  timeoutMs: [
    (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= MAX_DELAY_MS,
    `must be an integer from 1 to ${MAX_DELAY_MS}`,
  ],
  idempotent: boolean(),
  maxConcurrent: [
    (value) => Number.isSafeInteger(value) && Number(value) >= 1,
    "must be an integer of at least 1",
  ],
  confirm: oneOf(["auto", "prompt", "always", "plan"]),
  paths: [
    (value) =>
      isListOf(
        value,
        (path) =>
          isArgument(path, ["access", "opensProtected"]) &&
          isAccess(path["access"]) &&
          isFlag(path["opensProtected"]),
      ),
    'must be a list of { argument: "/path", access: "read" | "write", opensProtected: true }',
  ],
  urls: [(value) => isListOf(value, (url) => isArgument(url, [])), 'must be a list of { argument: "/url" }'],
  usesFiles: [(value) => typeof value === "boolean" || value === "staged", 'must be true, false or "staged"'],
  requiresCapability: boolean(),
  logFileAccess: boolean(),
  visibleTo: [isFunction, "must be a function"],
  projectChanges: [isFunction, "must be a function"],
  preflight: [isFunction, "must be a function"],
  modelText: [isFunction, "must be a function"],
  reportsWork: boolean(),
  searchesTools: boolean(),
  unhandledErrors: oneOf(["message", "redacted"]),
};

/** Traits that another one says now: what to write in place of them. */
export const FORMER_TRAITS: Readonly<Record<string, string>> = Object.freeze({
  alwaysConfirm: "write 'confirm: \"always\"' in place of 'alwaysConfirm: true'",
  submitsPlan: "write 'confirm: \"plan\"' in place of 'submitsPlan: true'",
  writesThroughFiles: "write 'usesFiles: \"staged\"' in place of 'writesThroughFiles: true'",
});

const HTTP_MEMBERS: readonly string[] = [
  "method",
  "url",
  "headers",
  "query",
  "body",
  "bodyFormat",
  "response",
  "maxRedirects",
];

const POINTER = new RegExp(POINTER_PATTERN);

const MAX_REDIRECTS = 10;

/**
 * Returns every reason why a tool with these implementations cannot be registered. It accepts any values, and neither
 * reads files nor runs code.
 */
export function implementationProblems(
  implementations: ToolImplementations<never, never>,
): readonly string[] {
  const modes = sandboxesOf(implementations);
  if (modes.length === 0) return [`the tool has no implementation: add one of ${SANDBOX_MODES.join(", ")}`];
  return modes.flatMap((mode) => CHECKS[mode](implementations[mode]) ?? []);
}

/** Each returns the problem of one implementation, or `undefined` if it is valid. */
const CHECKS: Record<SandboxMode, (given: unknown) => string | undefined> = {
  host: (given) => {
    if (typeof given === "function") return undefined;
    const { create, module, export: exported } = isJsonObject(given) ? given : {};
    if (create === undefined && module === undefined) {
      return "host must be a function, a factory with create(), or a module: { module, export }";
    }
    if (create !== undefined && module !== undefined) return "host takes either create() or a module";
    if (create !== undefined) {
      return typeof create === "function" ? undefined : "host.create must be a function";
    }
    if (!isLocation(module)) return "host.module must be a path or a file: URL";
    return isOptionalString(exported) ? undefined : "host.export must be a string";
  },
  wasm: (given) => {
    const component: unknown = isJsonObject(given) ? given["component"] : undefined;
    if (!isLocation(component) && !(component instanceof Uint8Array)) {
      return "wasm.component must be a path, a file: URL or bytes";
    }
    const { tool, export: exported, engine } = given as Readonly<Record<string, unknown>>;
    if (!isOptionalString(tool)) return "wasm.tool must be a string";
    if (!isOptionalString(exported)) return "wasm.export must be a string";
    if (engine !== undefined && engine !== "jco") return "wasm.engine must be 'jco', or left out";
    return tool === undefined || exported === undefined ? undefined : "wasm takes either a tool or an export";
  },
  quickjs: (given) => {
    if (!isJsonObject(given)) return "quickjs must be an object";
    const { source, file } = given;
    if ((source === undefined) === (file === undefined))
      return "quickjs takes exactly one of source and file";
    if (source !== undefined && typeof source !== "string") return "quickjs.source must be a string";
    if (file !== undefined && !isLocation(file)) return "quickjs.file must be a path or a file: URL";
    if (!isOptionalString(given["export"])) return "quickjs.export must be a string";
    return isTypedCode(given["typedCode"], source)
      ? undefined
      : "quickjs.typedCode must be { code, language }, beside source";
  },
  process: processProblem,
  microvm: (given) => {
    if (!isJsonObject(given)) return "microvm must be an object";
    const { image, command, args = [] } = given;
    if (!isProgramText(image) || !isAbsolute(image))
      return "microvm.image must be the absolute path of a directory";
    if (!isProgramText(command) || command === "")
      return "microvm.command must be the name or the path of a program in the image";
    if (!Array.isArray(args) || !args.every(isProgramText))
      return "microvm.args must be a list of strings without NUL";
    return Buffer.byteLength([command, ...args].join(" ")) <= MAX_COMMAND_BYTES
      ? undefined
      : `microvm.command and its args must have at most ${MAX_COMMAND_BYTES} bytes`;
  },
  remote: remoteProblem,
};

/**
 * Maximum number of bytes of a command in a virtual machine: put a longer script into a file of the image.
 */
const MAX_COMMAND_BYTES = 2_000;

function isLocation(value: unknown): boolean {
  return typeof value === "string" ? value !== "" : value instanceof URL && value.protocol === "file:";
}

function isTypedCode(value: unknown, source: unknown): boolean {
  if (value === undefined) return true;
  return (
    source !== undefined &&
    isJsonObject(value) &&
    typeof value["code"] === "string" &&
    typeof value["language"] === "string"
  );
}

function isOptionalString(value: unknown): boolean {
  return value === undefined || typeof value === "string";
}

/** Returns why a value is not a valid remote implementation, or `undefined` if it is. */
function remoteProblem(given: unknown): string | undefined {
  if (!isJsonObject(given)) return "remote must be an object";
  const { url, http, web, executor } = given;
  const mcp: unknown = given["mcp"];
  if ([url, http, web, executor, mcp].filter((one) => one !== undefined).length > 1) {
    return "remote takes one of url, http, web, executor and mcp";
  }
  if (mcp !== undefined) return isHandle(mcp) ? undefined : "remote.mcp must be a handle from openMcp";
  if (web !== undefined) return webProblem(web);
  if (http !== undefined) return httpProblem(http);
  if (executor !== undefined) {
    const addresses = parseExecutors(executor);
    return typeof addresses === "string" ? `remote.${addresses}` : undefined;
  }
  const endpoint = parseHttpUrl(url);
  return typeof endpoint === "string" ? `remote.${endpoint}` : undefined;
}

function isHandle(given: unknown): boolean {
  if (typeof given !== "object" || given === null) return false;
  return ["call", "toJSON"].every((method) => typeof Reflect.get(given, method) === "function");
}

function webProblem(given: JsonValue): string | undefined {
  const { method, ...others } = isJsonObject(given) ? given : {};
  const isKnown = method === "GET" || method === "POST";
  return isKnown && Object.keys(others).length === 0
    ? undefined
    : "remote.web must be { method: GET or POST }";
}

function httpProblem(given: unknown): string | undefined {
  if (!isJsonObject(given)) return "remote.http must be an object";
  const unknown = Object.keys(given).find((name) => !HTTP_MEMBERS.includes(name));
  if (unknown !== undefined) return `remote.http has an unknown member '${unknown}'`;
  const { method = "GET", url, headers = {}, response = {}, maxRedirects = 0 } = given;
  const isCount = Number.isInteger(maxRedirects) && Number(maxRedirects) >= 0;
  if (!isCount || Number(maxRedirects) > MAX_REDIRECTS) {
    return `remote.http.maxRedirects must be a number from 0 to ${MAX_REDIRECTS}`;
  }
  try {
    const problem = typeof method === "string" ? methodProblem(method) : "the method must be a string";
    if (problem !== undefined) return `remote.http.method: ${problem}`;
    compileUrl(url);
    compileHeaders(headers);
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    return `remote.http.${error.message}`;
  }
  return contentProblem(given, String(method)) ?? responseProblem(response);
}

/** What is wrong with the query and the format of the body. */
function contentProblem(
  { query, body, bodyFormat, headers }: JsonObject,
  method: string,
): string | undefined {
  if (query !== undefined && !isJsonObject(query)) return "remote.http.query must be a map";
  if (bodyFormat === undefined || bodyFormat === "json") return undefined;
  if (!BODY_FORMATS.some((format) => format === bodyFormat))
    return `remote.http.bodyFormat must be one of ${BODY_FORMATS.join(", ")}`;
  if (body === undefined && !["POST", "PUT", "PATCH"].includes(method))
    return `remote.http.bodyFormat needs a body, which ${method} does not have by default`;
  if (body !== undefined && !isJsonObject(body) && typeof body !== "string")
    return "remote.http.body must be a map, or one argument, with this bodyFormat";
  const hasType = Object.keys(headers ?? {}).some((name) => name.toLowerCase() === "content-type");
  return bodyFormat === "multipart" && hasType
    ? "remote.http.headers must not have content-type: that of a multipart body has its boundary"
    : undefined;
}

function responseProblem(response: JsonValue): string | undefined {
  if (!isJsonObject(response)) return "remote.http.response must be an object";
  const { pointer, text, bigNumbers, ...others } = response;
  if (Object.keys(others).length > 0) return "remote.http.response takes only pointer, text and bigNumbers";
  if (pointer !== undefined && (typeof pointer !== "string" || !POINTER.test(pointer))) {
    return "remote.http.response.pointer must be a JSON pointer, such as /data/items";
  }
  if (text !== undefined && typeof text !== "boolean")
    return "remote.http.response.text must be true or false";
  if (bigNumbers !== undefined && bigNumbers !== "refuse" && bigNumbers !== "string") {
    return 'remote.http.response.bigNumbers must be "refuse" or "string"';
  }
  if (text && pointer !== undefined) return "remote.http.response takes either a pointer or text";
  return undefined;
}

/** Returns what is wrong with the traits of a tool, which can have other members. Accepts any values. */
export function traitProblems(traits: ToolTraits): readonly string[] {
  const names = Object.keys(TRAIT_CHECKS) as (keyof ToolTraits)[];
  const problems = Object.keys(traits).flatMap((name) => unknownTrait(name, names) ?? []);
  for (const name of names) {
    const value = traits[name];
    if (value === undefined) continue;
    const [isValid, requirement] = TRAIT_CHECKS[name];
    if (!isValid(value)) problems.push(`${name} ${requirement}`);
  }
  return problems;
}

/** A trait under another name, such as `timeout`, would do nothing. Other members are those of the tool's author. */
function unknownTrait(name: string, names: readonly string[]): string | undefined {
  if (Object.hasOwn(FORMER_TRAITS, name)) return `'${name}' is unknown: ${FORMER_TRAITS[name]}`;
  const meant = names.includes(name) ? undefined : suggest(name, names);
  return meant && `'${name}' is unknown: did you mean '${meant}'?`;
}

function oneOf(allowed: readonly string[]): Check {
  return [(value) => allowed.includes(value as string), `must be one of ${allowed.join(", ")}`];
}

function boolean(): Check {
  return [(value) => typeof value === "boolean", "must be true or false"];
}

function isFunction(value: unknown): boolean {
  return typeof value === "function";
}

function isFlag(value: unknown): boolean {
  return value === undefined || typeof value === "boolean";
}

function isAccess(value: unknown): boolean {
  return value === "read" || value === "write";
}

function isListOf(value: unknown, isItem: (item: never) => boolean): boolean {
  return Array.isArray(value) && (value as never[]).every(isItem);
}

/** Whether a value is an object with a JSON pointer as `argument`, and no members but these. */
function isArgument(
  value: unknown,
  others: readonly string[],
): value is { readonly [name: string]: unknown } {
  if (!isJsonObject(value)) return false;
  const { argument, ...rest } = value;
  if (typeof argument !== "string" || argument === "" || !POINTER.test(argument)) return false;
  return Object.keys(rest).every((name) => others.includes(name));
}
