import type { ProgramContext } from "../program-context.ts";

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
  /** Environment variables with their values, which are no secrets. They replace granted ones. Default: none. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * The working directory, relative to the first granted directory. A call fails with `permission_denied` if it leads out
   * of that, also through a link. Default: the first granted directory, or `/tmp` if there is none.
   */
  readonly cwd?: string | ArgumentReference;
  /**
   * With `output: "completion"`, which calls run a command in a shell that is retained for their session: see
   * {@link PersistentShell}; or a function that returns the command for that shell, or `undefined` for a call with a process of its own.
   * Default: none; each call has one.
   */
  readonly keptShell?: PersistentShell | ((input: Input, context: ProgramContext) => string | undefined);
  /**
   * Milliseconds between SIGTERM, which the program's process group gets when the call is cancelled or at its deadline, and
   * SIGKILL, which ends all its processes. At most 60,000. Default: 5,000.
   */
  readonly killGraceMs?: number;
  /**
   * Milliseconds after which a program that neither writes anything nor uses CPU time is ended, since it probably waits for
   * input that never comes; or a function that returns them for the arguments of the call. Its call has what it wrote, and a text that says why it was ended.
   * From 100 to 86,400,000. Default: what the sandbox says, which is 60,000 unless it is set.
   */
  readonly idleMs?: number | ((input: Input) => number | undefined);
  /**
   * Returns the milliseconds after which the program is ended for the arguments of a call, whose result has what it wrote until
   * then, and a text that says so. The wall time of the grant holds besides. From 100 to 86,400,000. Default: only that.
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
