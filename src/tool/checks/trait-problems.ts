import { suggest } from "../../base/suggest.ts";
import { MAX_DELAY_MS } from "../../base/timers/deadline-timer.ts";
import { POINTER_PATTERN } from "../../json/pointer.ts";
import { isJsonObject } from "../../json/value.ts";
import { SIDE_EFFECTS } from "../side-effects.ts";
import type { ToolTraits } from "../tool-traits.ts";

const POINTER = new RegExp(POINTER_PATTERN);

type Check = readonly [isValid: (value: unknown) => boolean, requirement: string];

/** A record, so the compiler reports a trait without a check. The schemas are checked when they are compiled. */
const CHECKS: Record<keyof ToolTraits, Check> = {
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
  confirm: oneOf(["auto", "prompt"]),
  alwaysConfirm: boolean(),
  submitsPlan: boolean(),
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
  usesFiles: boolean(),
  writesThroughFiles: boolean(),
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

/** Returns what is wrong with the traits of a tool, which can have other members. Accepts any values. */
export function traitProblems(traits: ToolTraits): readonly string[] {
  const names = Object.keys(CHECKS) as (keyof ToolTraits)[];
  const problems = Object.keys(traits).flatMap((name) => misspeltTrait(name, names) ?? []);
  for (const name of names) {
    const value = traits[name];
    if (value === undefined) continue;
    const [isValid, requirement] = CHECKS[name];
    if (!isValid(value)) problems.push(`${name} ${requirement}`);
  }
  return problems;
}

/** A trait under another name, such as `alwaysconfirm`, would do nothing. */
function misspeltTrait(name: string, names: readonly string[]): string | undefined {
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
