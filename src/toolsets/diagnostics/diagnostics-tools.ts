import type { MaybePromise } from "../../base/promises.ts";
import { defineTool, type Tool } from "../../engine/tool.ts";
import type { HostContext } from "../../tool/implementations/host-implementation.ts";
import type { ProgramCompletion } from "../../tool/implementations/process-implementation.ts";
import { ToolFailure } from "../../tool/tool-failure.ts";
import { inputSchema } from "../input-schema.ts";
import type { ToolsetNaming } from "../toolset-naming.ts";
import { type Diagnostic, parseDiagnostics } from "./parse-diagnostics.ts";

/** The options of the toolset `diagnostics`: where diagnostics come from. One of both is needed. */
export interface DiagnosticsOptions extends ToolsetNaming {
  /**
   * A compiler or linter and its arguments, such as `["tsc", "--noEmit"]`, which runs in the sandbox `process`. It must write
   * diagnostics as `path(line,column): error …` or `path:line:column: error …`, or as bash, dash and Python do.
   */
  readonly command?: readonly [program: string, ...args: string[]];
  /** A function of the embedder, such as a client of a language server. */
  readonly find?: (paths: readonly string[], context: HostContext) => MaybePromise<readonly Diagnostic[]>;
}

/** The most diagnostics in an answer, and the most other lines. */
const MAX_DIAGNOSTICS = 500;
const MAX_OTHERS = 50;

/** The most lines of a command that could not be run. */
const MAX_REASON_LINES = 5;

const INPUT = inputSchema(
  {},
  {
    paths: {
      type: "array",
      items: { type: "string", pattern: "^[^-]", maxLength: 4_096 },
      maxItems: 1_000,
      description: "The files that are asked about. Default: all of the project.",
    },
  },
);

/** A tool that says what a compiler or linter finds wrong with files: `get_diagnostics`. */
export function diagnosticsTools({ command, find }: DiagnosticsOptions): readonly Tool[] {
  if ((command === undefined) === (find === undefined)) {
    throw new TypeError("The toolset 'diagnostics' needs either a command or a function find");
  }
  const [program = "", ...args] = command ?? [];
  return [
    defineTool({
      name: "get_diagnostics",
      description: "Returns errors and warnings of the project's compiler or linter, with their places.",
      sideEffects: "read",
      inputSchema: INPUT,
      ...(find !== undefined && {
        host: async ({ paths = [] }: { readonly paths?: readonly string[] }, context: HostContext) =>
          shorten(await find(paths, context), []),
      }),
      ...(command !== undefined && {
        process: {
          ...{ command: program, args: [...args, { argument: "/paths" }] },
          ...{ input: "none", output: "completion" },
          result: (completion, { paths = [] }: { readonly paths?: readonly string[] }) =>
            answerFor(program, completion, paths),
        },
      }),
    }),
  ];
}

/**
 * Returns what a command found in the files that were asked about.
 *
 * @throws {ToolFailure} if the command could not be run, which would look as if it had found nothing.
 */
function answerFor(
  program: string,
  { exitCode, stdout, stderr, truncated }: ProgramCompletion,
  paths: readonly string[],
) {
  const { diagnostics, others } = parseDiagnostics(`${stdout}\n${stderr}`);
  const isUnread = diagnostics.length === 0 && exitCode !== 0;
  if (isUnread && NOT_RUN.has(exitCode)) throw notRun(program, exitCode, others);
  const asked = diagnostics.filter(({ path }) => paths.length === 0 || isAsked(path, paths));
  const notes = [
    ...(isUnread
      ? [`The command failed with exit code ${exitCode}, and wrote no diagnostics that could be read.`]
      : []),
    ...(truncated ? ["The output was too long: diagnostics from its middle are missing."] : []),
  ];
  return { exitCode, ...shorten(asked, others), ...(notes.length > 0 && { note: notes.join(" ") }) };
}

/** The exit codes of a shell, and of Sandgate, for a program that cannot be executed or is not there. */
const NOT_RUN: ReadonlySet<number> = new Set([126, 127]);

function notRun(program: string, exitCode: number, lines: readonly string[]): ToolFailure {
  const words = lines.slice(-MAX_REASON_LINES).join("\n");
  return new ToolFailure(
    "execution_error",
    `The command '${program}', which finds diagnostics, could not be run (exit code ${exitCode}): ask the user to install ` +
      `it, or to configure another one.${words === "" ? "" : `\n${words}`}`,
    { effect: "none" },
  );
}

/** Whether a path is one of those that were asked about, or below it. */
function isAsked(path: string, paths: readonly string[]): boolean {
  const name = path.replace(/^\.\//, "");
  return paths.some((each) => {
    const asked = each.replace(/^\.\//, "").replace(/\/+$/, "");
    return name === asked || name.startsWith(`${asked}/`) || asked === ".";
  });
}

/** Leaves out what is too much, and says how much that is. */
function shorten(diagnostics: readonly Diagnostic[], others: readonly string[]) {
  const leftOut = diagnostics.length - MAX_DIAGNOSTICS;
  return {
    diagnostics: diagnostics.slice(0, MAX_DIAGNOSTICS),
    ...(leftOut > 0 && { leftOut }),
    ...(others.length > 0 && { otherOutput: others.slice(-MAX_OTHERS).join("\n") }),
  };
}
