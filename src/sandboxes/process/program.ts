import { lookUp, parsePointer } from "../../json/pointer.ts";
import type { JsonValue } from "../../json/value.ts";
import {
  type ArgumentReference,
  IDLE_FORM,
  isIdleTime,
  isProgramText,
  isVariableName,
  type PersistentShell,
  type ProcessImplementation,
} from "../../tool/implementations/process-implementation.ts";
import { ToolFailure } from "../../tool/tool-failure.ts";
import type { ProgramContext } from "../../tool/tool-traits.ts";
import type { SandboxTask } from "../contract/sandbox.ts";

/** Maximum number of bytes of the arguments and variables of a program together. */
export const MAX_PROGRAM_BYTES: number = 120 * 1_024;

/** A program with everything that depends on the arguments of the call. */
export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly stdin: string;
  readonly env: Readonly<Record<string, string>>;
  /** Relative to the first granted directory. Absent: that directory itself. */
  readonly cwd?: string | undefined;
}

/**
 * Returns the program for a call, with the granted variables that are set.
 *
 * @throws {ToolFailure} `validation_error` if an argument of the call cannot be given to a program. Also throws what a
 *   function of the implementation throws.
 */
export function programFor(
  { command, args = [], input = "json", env: own = {}, cwd }: ProcessImplementation,
  task: SandboxTask,
): Program {
  const values = new Values(task.input);
  const program: Program = {
    command,
    args:
      typeof args === "function"
        ? values.checkAll(args(task.input as never, contextOf(task)))
        : args.flatMap((item) => (typeof item === "string" ? [item] : values.list(item))),
    stdin: stdinOf(input, values, task),
    // A shell, which starts the program, would not pass other variables on.
    env: { ...grantedVariables(task.capabilities.env?.filter(isVariableName)), ...own },
    cwd: typeof cwd === "object" ? values.single(cwd) : cwd,
  };
  if (programBytes(program) > MAX_PROGRAM_BYTES)
    throw refusal(
      `The arguments of the program are longer than ${MAX_PROGRAM_BYTES / 1_024} KiB: pass on less`,
    );
  return program;
}

/** The bytes of a program's arguments and variables. */
export function programBytes({ command, args, env, cwd = "" }: Program): number {
  const texts = [command, ...args, ...Object.entries(env).flat(), cwd];
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 0);
}

/**
 * Returns the command for a persistent shell, if the call is one of a command that such a shell runs.
 *
 * @throws {ToolFailure} `validation_error` if it names a directory, or the command cannot be given to a program.
 */
export function shellCommand(
  { persistentShell, cwd }: ProcessImplementation,
  task: SandboxTask,
): string | undefined {
  const values = new Values(task.input);
  const command =
    typeof persistentShell === "function"
      ? persistentShell(task.input as never, contextOf(task))
      : values.command(persistentShell);
  if (command === undefined) return undefined;
  if (!isProgramText(command)) throw new TypeError("process.persistentShell returned no text without NUL");
  if ((task.capabilities.net ?? []).length > 0)
    throw refusal(
      "The shell of a session, in which persistent commands and those in the background run, has no network: run the command in " +
        "another way",
    );
  if (typeof cwd === "object" && values.single(cwd) !== undefined)
    throw refusal(
      `${nameOf(cwd.argument)} must be left out for the shell of a session, which keeps its directory: use cd`,
    );
  return command;
}

/** When a program is ended before its wall time, with what it wrote until then, in milliseconds. */
export interface EarlyEndTimes {
  /** Without output and CPU time. `Infinity`: never. */
  readonly idleMs: number;
  /** Since its start. `undefined`: never. */
  readonly timeoutMs: number | undefined;
}

/**
 * Returns when the program of a call is ended early.
 *
 * @param idleMs If neither the tool nor the call says so.
 */
export function timesOf(tool: ProcessImplementation, task: SandboxTask, idleMs: number): EarlyEndTimes {
  const ask = (member: "idleMs" | "timeoutMs"): number | undefined => {
    const time = tool[member];
    if (typeof time !== "function") return time;
    const given: unknown = time(task.input as never);
    if (given === undefined || isIdleTime(given)) return given;
    throw new TypeError(`process.${member} did not return ${IDLE_FORM}`);
  };
  return { idleMs: ask("idleMs") ?? idleMs, timeoutMs: ask("timeoutMs") };
}

function stdinOf(
  input: NonNullable<ProcessImplementation["input"]>,
  values: Values,
  task: SandboxTask,
): string {
  if (input === "none") return "";
  if (input === "json") return task.canonical.text;
  if (typeof input !== "function") return values.text(input) ?? "";
  const text: unknown = input(task.input as never, contextOf(task));
  if (typeof text !== "string") throw new TypeError("process.input returned no string");
  return text;
}

function contextOf(task: SandboxTask): ProgramContext {
  const { callId, sessionId, toolName, turnId, principal, workspace, embedder } = task;
  return Object.freeze({ callId, sessionId, toolName, turnId, principal, workspace, embedder });
}

/** The values of a call's arguments, as texts for a program. */
class Values {
  readonly #input: JsonValue;

  constructor(input: JsonValue) {
    this.#input = input;
  }

  /** The texts of a value, which can be a list. */
  list(reference: ArgumentReference): readonly string[] {
    const value = this.#valueOf(reference);
    const texts = Array.isArray(value) && value.every((item) => typeof item === "string") ? value : undefined;
    return (texts ?? [this.#textOf(reference, value)]).flatMap((text) =>
      text === undefined ? [] : [this.#check(reference, text)],
    );
  }

  /** The command for a persistent shell; `undefined` if the call does not use one. */
  command(shell: PersistentShell | undefined): string | undefined {
    if (shell === undefined || this.#valueOf(shell.when) !== true) return undefined;
    return this.single(shell.command) ?? "";
  }

  /** The text of a value that is no list. */
  text(reference: ArgumentReference): string | undefined {
    return this.#textOf(reference, this.#valueOf(reference));
  }

  /** The same, as an argument or a path, which cannot have every character. */
  single(reference: ArgumentReference): string | undefined {
    const text = this.text(reference);
    return text === undefined ? undefined : this.#check(reference, text);
  }

  /** Checks the arguments that a function returned. */
  checkAll(args: readonly string[]): readonly string[] {
    if (Array.isArray(args) && args.every(isProgramText)) return args;
    throw new TypeError("process.args returned no list of strings without NUL");
  }

  #valueOf({ argument }: ArgumentReference): JsonValue | undefined {
    const found = lookUp(this.#input, parsePointer(argument));
    return typeof found === "symbol" || found === null ? undefined : found;
  }

  #textOf({ argument }: ArgumentReference, value: JsonValue | undefined): string | undefined {
    if (value === undefined || typeof value === "string") return value;
    if (typeof value === "number" || typeof value === "boolean") return String(value);
    throw refusal(`${nameOf(argument)} must be a text, a number, true or false`);
  }

  #check({ argument }: ArgumentReference, text: string): string {
    if (isProgramText(text)) return text;
    throw refusal(`${nameOf(argument)} has a NUL character or half a surrogate pair: remove it`);
  }
}

function nameOf(pointer: string): string {
  return pointer === "" ? "The input" : `The argument ${pointer}`;
}

/** The program does not start. */
function refusal(message: string): ToolFailure {
  return new ToolFailure("validation_error", message, { effect: "none" });
}

/**
 * Returns those environment variables of this process that a grant names and that are set.
 *
 * @param names Default: none.
 */
export function grantedVariables(names: readonly string[] = []): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
