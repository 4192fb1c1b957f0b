import { defineTool, type Tool } from "../../engine/tool.ts";
import { PROTECTED_TEXT } from "../../workspace/protected-places.ts";
import { inputSchema } from "../input-schema.ts";
import type { ToolsetNaming } from "../toolset-naming.ts";
import { FIND_TESTS } from "./find-tests.ts";

/** The options of the toolset `shell`. */
export interface ShellOptions extends ToolsetNaming {
  /** Environment variables of every command, with their values, which are no secrets. Default: none. */
  readonly env?: Readonly<Record<string, string>>;
  /** The command of `run_tests`. Default: it is found by the files of the project. */
  readonly testCommand?: string;
  /** Whether an exit code other than 0 fails a call. Default: `false`; the model reads the code. */
  readonly failOnExit?: boolean;
  /**
   * Milliseconds between SIGTERM, at the deadline of a command or when it is cancelled, and SIGKILL. At most 60,000.
   * Default: 5,000.
   */
  readonly killGraceMs?: number;
  /**
   * Milliseconds after which a command that neither writes anything nor uses CPU time is ended; a call can say otherwise with
   * `idle`. From 100 to 86,400,000. Default: what the sandbox says, which is 60,000 unless it is set.
   */
  readonly idleMs?: number;
}

/** The wall time of a command whose grant does not set it. */
const TIMEOUT_MS = 600_000;

const COMMAND = { type: "string", minLength: 1, maxLength: 100_000 } as const;
const CWD = {
  type: "string",
  minLength: 1,
  maxLength: 4_096,
  description: "The working directory, relative to the workspace. Default: the workspace.",
} as const;

const PERSISTENT = {
  type: "boolean",
  description:
    "Whether the command runs in the bash of this session, which keeps its directory, variables, aliases and functions " +
    "from one such command to the next. Use cd in place of cwd. Default: false.",
} as const;

const IDLE = {
  type: "integer",
  minimum: 1_000,
  maximum: TIMEOUT_MS,
  description:
    "Milliseconds after which the command is ended if it writes nothing and uses no CPU time, as one that waits for input. " +
    "Raise it for a command that only waits, such as sleep. Default: 60000.",
} as const;

const RESULT = "Returns the exit code, the standard output and the standard error.";

/**
 * Tools that run commands with bash in the sandbox `process`: `run_command` and `run_tests`.
 */
export function shellTools(options: ShellOptions): readonly Tool[] {
  return [runCommand("run_command", options), runTests(options)];
}

/** The tool `run_command`, under any name. */
export function runCommand(name: string, options: ShellOptions): Tool {
  return defineTool({
    ...TRAITS,
    name,
    description: `Runs a command with bash in the workspace. ${RESULT} ${PROTECTED_TEXT} What it creates of these is moved aside.`,
    inputSchema: inputSchema({ command: COMMAND }, { cwd: CWD, persistent: PERSISTENT, idle: IDLE }),
    process: {
      ...programOf(options),
      args: ["-c", "--", { argument: "/command" }],
      cwd: { argument: "/cwd" },
      keptShell: { when: { argument: "/persistent" }, command: { argument: "/command" } },
    },
  });
}

function runTests(options: ShellOptions): Tool {
  const { testCommand = FIND_TESTS } = options;
  // "$@" of the command are the arguments of the call. The word before them is $0.
  const script = `${testCommand} "$@"`;
  return defineTool({
    ...TRAITS,
    name: "run_tests",
    description: `Runs the tests of the project in the workspace. ${RESULT}`,
    inputSchema: inputSchema(
      {},
      {
        args: {
          type: "array",
          items: { type: "string", maxLength: 4_096 },
          maxItems: 100,
          description: "Further arguments for the command that runs the tests, such as a file or a filter.",
        },
        cwd: CWD,
        idle: IDLE,
      },
    ),
    process: {
      ...programOf(options),
      args: ["-c", "--", script, "run_tests", { argument: "/args" }],
      cwd: { argument: "/cwd" },
    },
  });
}

const TRAITS = { sideEffects: "execute", confirm: "prompt", timeoutMs: TIMEOUT_MS } as const;

function programOf({ env, failOnExit, killGraceMs, idleMs }: ShellOptions) {
  return {
    command: "bash",
    input: "none",
    output: "completion",
    reportsChanges: true,
    idleMs: ({ idle = idleMs }: { readonly idle?: number }) => idle,
    ...(env !== undefined && { env }),
    ...(failOnExit !== undefined && { failOnExit }),
    ...(killGraceMs !== undefined && { killGraceMs }),
  } as const;
}
