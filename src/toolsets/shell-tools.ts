import { statfs } from "node:fs/promises";
import { availableParallelism, freemem, loadavg, totalmem, uptime } from "node:os";
import { plainText } from "../base/text.ts";
import { defineTool, type Tool } from "../engine/tool.ts";
import type { ProgramCompletion } from "../tool/implementations/process-implementation.ts";
import type { ModelReader, ProgramContext } from "../tool/tool-traits.ts";
import { PROTECTED_TEXT } from "../workspace/protected-places.ts";
import { noteText, shortenedText } from "./model-texts.ts";
import { inputSchema, type ToolsetNaming } from "./tool-parts.ts";

/** The characters reserved for the lines around the outputs, without a note. */
const RESERVED = 200;

/** How much of a long output is its beginning: what went wrong stands at the end. */
const HEAD = 0.4;

const WHOLE = "To read them, write the output to a file and read that, or search it with grep.";

/** The message of git if it cannot replace a file under a mount, with which the sandbox protects it. */
const PROTECTED_CONFIG = /could not write config file .{1,4096}: Device or resource busy/;

const CONFIG_NOTE =
  "The configuration of git is protected, since other programs follow it: commands cannot change it. " +
  "Use git -c NAME=VALUE for one command, or ask the user to change it.";

/** How long a command is waited for that could end at once, in steps of 0.1 s, and how much is shown of what it wrote then. */
const STEPS = 10;

const SHOWN_BYTES = 4_000;

/** Stands at the end of the output of a command that has ended, before its exit code. */
const EXITED = "[The command ended with the exit code ";

const PYTEST = "python3 -m pytest";

const NO_PYTEST =
  "pytest, which runs the tests of Python projects, is not installed here: run the tests with run_command, such as python3 -m " +
  "unittest, or in the project's own environment, or ask the user to install pytest.";

const NEEDS_PYTEST = `if ! python3 -c 'import pytest' 2>/dev/null; then echo "${NO_PYTEST}" >&2; exit 127; fi; `;

/** The projects whose tests are known, by a file at their root, and the command that runs these. */
const PROJECTS: readonly (readonly [file: string, command: string])[] = [
  ["package.json", "npm test --"],
  ["Cargo.toml", "cargo test"],
  ["go.mod", "go test ./..."],
  ["pyproject.toml", PYTEST],
  ["pytest.ini", PYTEST],
  ["setup.py", PYTEST],
  ["Makefile", "make test"],
];

const CASES = PROJECTS.map(([file, command]) => {
  const check = command === PYTEST ? NEEDS_PYTEST : "";
  return `if [ -e ${file} ]; then ${check}${command} "$@"; exit; fi`;
}).join("\n");

const UNKNOWN = `None of these files is here: ${PROJECTS.map(([file]) => file).join(", ")}. Run the tests with run_command.`;

/** A function of bash, and a call of it: runs the tests of the project in the working directory. */
const FIND_TESTS: string = `find_tests() {
${CASES}
echo "${UNKNOWN}" >&2
exit 127
}
find_tests`;

/** The options of the toolset `shell`. */
export interface ShellOptions extends ToolsetNaming {
  /** Environment variables of every command, with their values, which must not be secrets. Default: none. */
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

const BACKGROUND = {
  type: "boolean",
  description:
    "Whether the command goes on after the call, such as a server: it runs beside others in the bash of this session. The result " +
    "says how to read what it writes and how to end it. Use cd in place of cwd. Default: false.",
} as const;

const DESCRIPTION = {
  type: "string",
  maxLength: 500,
  description: "What the command does, in a few words, for the person who is asked about it.",
} as const;

const TIMEOUT = {
  type: "integer",
  minimum: 1_000,
  maximum: TIMEOUT_MS,
  description:
    "Milliseconds after which the command is ended; the result has what it wrote until then. Default: what this tool may take, " +
    "at most 600000.",
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
    inputSchema: inputSchema(
      { command: COMMAND },
      {
        description: DESCRIPTION,
        cwd: CWD,
        timeout: TIMEOUT,
        idle: IDLE,
        persistent: PERSISTENT,
        background: BACKGROUND,
      },
    ),
    process: {
      ...programOf(options),
      args: ["-c", "--", { argument: "/command" }],
      cwd: { argument: "/cwd" },
      persistentShell: ({ command, persistent, background }: CommandInput, { toolName }: ProgramContext) =>
        background ? inBackground(command, toolName) : persistent ? command : undefined,
    },
  });
}

interface CommandInput {
  readonly command: string;
  readonly persistent?: boolean;
  readonly background?: boolean;
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
        timeout: TIMEOUT,
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

const TRAITS = {
  sideEffects: "execute",
  confirm: "prompt",
  timeoutMs: TIMEOUT_MS,
  modelText: completionText,
} as const;

function programOf({ env, failOnExit, killGraceMs, idleMs }: ShellOptions) {
  return {
    command: "bash",
    input: "none",
    output: "completion",
    reportsChanges: true,
    idleMs: ({ idle = idleMs }: { readonly idle?: number }) => idle,
    timeoutMs: ({ timeout }: { readonly timeout?: number }) => timeout,
    ...(env !== undefined && { env }),
    ...(failOnExit !== undefined && { failOnExit }),
    ...(killGraceMs !== undefined && { killGraceMs }),
  } as const;
}

/**
 * Returns what the shell of a session runs to have a command run in the background, in a process group of its own: it says how to
 * read the output and how to end it, and shows what the command wrote at first. The shell itself stays as it was.
 *
 * @param toolName With which the shell is reached.
 */
function inBackground(command: string, toolName: string): string {
  return `(
output=$(mktemp -t background-XXXXXX) || exit
set -m
{ ( eval ${quote(command)} ); printf '\\n${EXITED}%s]\\n' "$?"; } >"$output" 2>&1 </dev/null &
set +m
group=$!
has_ended() { tail -c 100 "$output" | grep -qF '${EXITED}'; }
for step in {1..${STEPS}}; do has_ended && break; sleep 0.1; done
if has_ended; then
  echo "The command has ended already. What it wrote is in $output:"
else
  echo "The command runs in the background. What it writes is in $output."
  echo "To read it: ${toolName} with persistent: true and the command: tail -n 100 $output"
  echo "To end it: ${toolName} with persistent: true and the command: kill -- -$group"
  echo "It ends with this session, and with its shell: when that is ended, or had no command for some minutes."
  [ ! -s "$output" ] || echo "So far it wrote:"
fi
head -c ${SHOWN_BYTES} "$output"
)`;
}

/** In single quotes, bash interprets nothing. */
function quote(text: string): string {
  return `'${text.replaceAll("'", () => "'\\''")}'`;
}

/** Returns how the model reads what a command wrote: its outputs as a terminal shows them, and how it ended. */
function completionText(
  { exitCode, signal, stdout, stderr, note }: ProgramCompletion,
  { chars }: ModelReader,
): string {
  const room = Math.max(chars - RESERVED - (note?.length ?? 0), 0);
  const [out, err] = [plainText(stdout), plainText(stderr)];
  // Characters that one of them does not need are available to the other one.
  const half = Math.floor(room / 2);
  const most = { out: Math.max(half, room - err.length), err: Math.max(half, room - out.length) };
  const parts = [
    ...(out === "" ? [] : [withoutEnd(shortenedText(out, most.out, HEAD, WHOLE))]),
    ...(err === ""
      ? []
      : [...(out === "" ? [] : ["Standard error:"]), withoutEnd(shortenedText(err, most.err, HEAD, WHOLE))]),
    ...(out === "" && err === "" ? ["The command wrote nothing."] : []),
    `Exit code: ${exitCode}${signal === null ? "" : ` (${signal})`}`,
    ...(exitCode !== 0 && PROTECTED_CONFIG.test(err) ? [noteText(CONFIG_NOTE)] : []),
    ...(note === undefined ? [] : [noteText(note)]),
  ];
  return parts.join("\n");
}

function withoutEnd(text: string): string {
  return text.endsWith("\n") ? text.slice(0, -1) : text;
}

/** A tool that says how busy this machine is: `system_monitor`. */
export function systemTools(): readonly Tool[] {
  return [systemMonitor];
}

const systemMonitor = defineTool({
  name: "system_monitor",
  description:
    "Returns the load of this machine (of the last 1, 5 and 15 minutes), and the size and free bytes of its memory and of the disk of the workspace. Use it before work that needs much of them.",
  sideEffects: "read",
  inputSchema: inputSchema({}),
  host: async (_, { workspace }) => ({
    cpus: availableParallelism(),
    load: loadavg(),
    uptimeSeconds: Math.floor(uptime()),
    memory: { totalBytes: totalmem(), freeBytes: freemem() },
    ...(workspace !== undefined && { disk: await diskOf(workspace) }),
  }),
});

async function diskOf(
  workspace: string,
): Promise<{ readonly totalBytes: number; readonly freeBytes: number }> {
  const { bsize, blocks, bavail } = await statfs(workspace);
  return { totalBytes: bsize * blocks, freeBytes: bsize * bavail };
}
