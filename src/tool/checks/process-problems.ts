import { POINTER_PATTERN } from "../../json/pointer.ts";
import { isJsonObject } from "../../json/value.ts";

/** The longest time between SIGTERM and SIGKILL. */
const MAX_KILL_GRACE_MS = 60_000;

/** The bounds of the time without output and CPU time after which a program is ended. */
const [MIN_IDLE_MS, MAX_IDLE_MS] = [100, 86_400_000];
export const IDLE_FORM: string = `an integer of milliseconds from ${MIN_IDLE_MS} to ${MAX_IDLE_MS}`;

const POINTER = new RegExp(POINTER_PATTERN);

/** A name that shells can set and programs can read (POSIX, 8.1). */
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Returns why a value cannot be a `process` implementation; `undefined` if it can. */
export function processProblem(given: unknown): string | undefined {
  if (!isJsonObject(given)) return "process must be an object";
  const failed = CHECKS.find(([member, isValid]) => !isValid(given[member]));
  if (failed !== undefined) return `process.${failed[0]} must be ${failed[2]}`;
  const unused = ["failOnExit", "result", "keptShell"].find((member) => given[member] !== undefined);
  return unused !== undefined && given["output"] !== "completion"
    ? `process.${unused} needs output: "completion"`
    : undefined;
}

/** Each member of an implementation, whether a value of it is valid, and what it must be. */
const CHECKS: readonly (readonly [member: string, isValid: (value: unknown) => boolean, form: string])[] = [
  ["command", (value) => isProgramText(value) && value !== "", "the name or the path of a program"],
  [
    "args",
    (value) => isAbsent(value) || isFunction(value) || (Array.isArray(value) && value.every(isItem)),
    "a list of strings without NUL and of { argument: pointer }, or a function",
  ],
  [
    "input",
    (value) => isOneOf(value, ["json", "none"]) || isReference(value) || isFunction(value),
    '"json", "none", { argument: pointer } or a function',
  ],
  ["output", (value) => isOneOf(value, ["json", "text", "completion"]), '"json", "text" or "completion"'],
  ["failOnExit", (value) => isAbsent(value) || typeof value === "boolean", "true or false"],
  ["result", (value) => isAbsent(value) || isFunction(value), "a function"],
  ["env", (value) => isAbsent(value) || isEnvironment(value), "an object of variables without NUL"],
  [
    "cwd",
    (value) => isAbsent(value) || (isItem(value) && value !== ""),
    "the path of a directory, or { argument: pointer }",
  ],
  ["reportsChanges", (value) => isAbsent(value) || typeof value === "boolean", "true or false"],
  [
    "keptShell",
    (value) => isAbsent(value) || isPersistentShell(value) || isFunction(value),
    "{ when: { argument: pointer }, command: { argument: pointer } }, or a function",
  ],
  [
    "idleMs",
    (value) => isAbsent(value) || isIdleTime(value) || isFunction(value),
    `${IDLE_FORM}, or a function`,
  ],
  ["timeoutMs", (value) => isAbsent(value) || isFunction(value), "a function"],
  ["killGraceMs", isGrace, `an integer from 0 to ${MAX_KILL_GRACE_MS}`],
];

/** Whether a value can be given to a program, as an argument or a variable. */
export function isProgramText(value: unknown): value is string {
  return typeof value === "string" && !value.includes("\0") && value.isWellFormed();
}

/** Whether a value can be the time after which an idle program is ended, in milliseconds. */
export function isIdleTime(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= MIN_IDLE_MS && Number(value) <= MAX_IDLE_MS;
}

/** Whether a shell can set a variable of this name. */
export function isVariableName(name: string): boolean {
  return VARIABLE.test(name);
}

function isItem(value: unknown): boolean {
  return isProgramText(value) || isReference(value);
}

function isReference(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const { argument, ...rest } = value;
  return typeof argument === "string" && POINTER.test(argument) && Object.keys(rest).length === 0;
}

function isPersistentShell(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const { when, command, ...rest } = value;
  return isReference(when) && isReference(command) && Object.keys(rest).length === 0;
}

function isEnvironment(value: unknown): boolean {
  return (
    isJsonObject(value) &&
    Object.entries(value).every(([name, text]) => isVariableName(name) && isProgramText(text))
  );
}

function isGrace(value: unknown): boolean {
  return (
    isAbsent(value) || (Number.isInteger(value) && Number(value) >= 0 && Number(value) <= MAX_KILL_GRACE_MS)
  );
}

function isOneOf(value: unknown, texts: readonly string[]): boolean {
  return isAbsent(value) || texts.includes(value as string);
}

function isFunction(value: unknown): boolean {
  return typeof value === "function";
}

function isAbsent(value: unknown): boolean {
  return value === undefined;
}
