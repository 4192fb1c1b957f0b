import { POINTER_PATTERN } from "../../json/pointer.ts";
import { isJsonObject } from "../../json/value.ts";
import type { ProgramContext } from "../tool-traits.ts";

/**
 * A tool that is a program: it runs in a process of its own that the kernel confines (Linux only). The program gets the
 * granted directories and environment variables, and nothing else of the machine but its system directories, read-only.
 *
 * @typeParam Input The type of the arguments that functions take.
 */
export interface ProcessImplementation<Input = never> {
  /** The program: an absolute path, or a name that is looked up in `/usr/bin` and `/bin`. */
  readonly command: string;
  /**
   * Its arguments, or a function that returns them for the arguments of the call. A reference to a list of strings becomes
   * as many arguments. A value that begins with `-` can be an option to the program: put `--` before it where the program
   * takes that. All together can have about 120 KiB. Default: none.
   */
  readonly args?:
    | readonly (string | ArgumentReference)[]
    | ((input: Input, context: ProgramContext) => readonly string[]);
  /**
   * What the program reads from its standard input: the arguments of the call as JSON (`"json"`), nothing (`"none"`), one
   * of the arguments as text, or the text that a function returns. Default: `"json"`.
   */
  readonly input?: "json" | "none" | ArgumentReference | ((input: Input, context: ProgramContext) => string);
  /**
   * What the output of the call is: the standard output as JSON (`"json"`), or as a string (`"text"`), or a
   * {@link ProgramCompletion} (`"completion"`). Default: `"json"`.
   */
  readonly output?: "json" | "text" | "completion";
  /**
   * With `output: "completion"`, whether an exit code other than 0 fails the call. With other outputs, it always does.
   * Default: `false`.
   */
  readonly failOnExit?: boolean;
  /**
   * With `output: "completion"`, returns the output of the call in place of the completion. The model reads the message of
   * a `ToolFailure` that it throws.
   */
  readonly result?: (completion: ProgramCompletion, input: Input) => unknown;
  /**
   * Environment variables with their values, which are not secrets. They replace granted ones. Default: none.
   */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * The working directory, relative to the first granted directory. A call fails with `permission_denied` if it leads out
   * of that, also through a link. Default: the first granted directory, or `/tmp` without one.
   */
  readonly cwd?: string | ArgumentReference;
  /**
   * With `output: "completion"`, which calls run a command in a shell that is retained for their session: see
   * {@link PersistentShell}; or a function that returns the command for that shell, or `undefined` for a call with a process of its own.
   * Default: none; each call has one.
   */
  readonly persistentShell?:
    | PersistentShell
    | ((input: Input, context: ProgramContext) => string | undefined);
  /**
   * Milliseconds between SIGTERM, which the program's process group gets when the call is cancelled or at its deadline, and
   * SIGKILL, which ends all its processes. At most 60,000. Default: 5,000.
   */
  readonly killGraceMs?: number;
  /**
   * Milliseconds after which a program that neither writes anything nor uses CPU time is ended, since it probably waits for
   * input that never comes; or a function that returns them for the arguments of the call. Its call has what it wrote, and a text that says why it was ended.
   * From 100 to 86,400,000. Default: that of the sandbox, which is 60,000 unless it is set.
   */
  readonly idleMs?: number | ((input: Input) => number | undefined);
  /**
   * Returns the milliseconds after which the program is ended for the arguments of a call, whose result has what it wrote until
   * then, and a text that says so. The wall time of the grant applies, too. From 100 to 86,400,000. Default: only that.
   */
  readonly timeoutMs?: (input: Input) => number | undefined;
  /**
   * Whether the execution has `changes`: the granted directories with `write` are looked at before and after the call, at
   * most 50,000 files for at most 2 seconds each time. What other programs change meanwhile counts, too. Default: `false`.
   */
  readonly reportsChanges?: boolean;
}

/**
 * The shell of a session: one bash that runs the commands of all its calls, so that the working directory, variables,
 * aliases and functions stay. It takes the place of `command`, `args` and `input`. Each session, each principal and each
 * tool has its own, and a call with another grant starts a new one.
 */
export interface PersistentShell {
  /** The argument that is `true` in calls for the shell. */
  readonly when: ArgumentReference;
  /** The argument that has the command, as text. */
  readonly command: ArgumentReference;
}

/**
 * An argument of the call: a string, or a number or boolean as text. If it is absent or null, nothing takes its place. Any
 * other value fails the call with `validation_error`.
 */
export interface ArgumentReference {
  /** A JSON pointer (RFC 6901) into the arguments, such as `/path`. */
  readonly argument: string;
}

/** How a program ended, and what it wrote. */
export interface ProgramCompletion {
  /** As a shell has it: 128 + the number of the signal if one ended the program. */
  readonly exitCode: number;
  /** The name of the signal for which the exit code stands; `null` if it stands for none. */
  readonly signal: string | null;
  /**
   * The standard output as UTF-8. If it is longer than 512 KiB, or what the output limit leaves, its middle is left out,
   * with a note that counts the bytes. Invalid bytes become U+FFFD.
   */
  readonly stdout: string;
  /** The standard error, in the same way. */
  readonly stderr: string;
  /** Whether anything was left out. */
  readonly truncated: boolean;
  /**
   * That the program was ended since it was idle or took too long, that it tried to reach a network that it does not have, or that the shell of the session was
   * started for this command or has ended. Absent if there is nothing to say.
   */
  readonly note?: string;
}

/**
 * A tool that is a program with a kernel of its own: each call runs in a fresh virtual machine without a network
 * (Linux on x86-64). The program reads the arguments of the call as a line of JSON, and writes its output as JSON.
 */
export interface MicrovmImplementation {
  /**
   * The files of the machine: the absolute path of a directory that becomes its root, read-only. `busybox` provides the
   * programs in `/bin` that the directory does not have.
   */
  readonly image: string;
  /** The program: an absolute path in the machine, or a name that is looked up in `/usr/local/bin`, `/usr/bin` and `/bin`. */
  readonly command: string;
  /** Its arguments. Default: none. With the command, at most 2,000 bytes. */
  readonly args?: readonly string[];
}

/** The longest time between SIGTERM and SIGKILL. */
const MAX_KILL_GRACE_MS = 60_000;

/** The bounds of the time without output and CPU time after which a program is ended. */
const [MIN_IDLE_MS, MAX_IDLE_MS] = [100, 86_400_000];

export const IDLE_FORM: string = `an integer of milliseconds from ${MIN_IDLE_MS} to ${MAX_IDLE_MS}`;

const POINTER = new RegExp(POINTER_PATTERN);

/** A name that shells can set and programs can read (POSIX, 8.1). */
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

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
    "persistentShell",
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

/** Returns why a value cannot be a `process` implementation; `undefined` if it can. */
export function processProblem(given: unknown): string | undefined {
  if (!isJsonObject(given)) return "process must be an object";
  if (given["keptShell"] !== undefined) return "process.keptShell is unknown: write 'persistentShell'";
  const failed = CHECKS.find(([member, isValid]) => !isValid(given[member]));
  if (failed !== undefined) return `process.${failed[0]} must be ${failed[2]}`;
  const unused = ["failOnExit", "result", "persistentShell"].find((member) => given[member] !== undefined);
  return unused !== undefined && given["output"] !== "completion"
    ? `process.${unused} needs output: "completion"`
    : undefined;
}

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
