import type { MaybePromise } from "../../base/promises.ts";
import { defineTool, type Tool } from "../../engine/tool.ts";
import type { HostContext } from "../../tool/implementations/host-implementation.ts";
import { inputSchema } from "../input-schema.ts";
import type { ToolsetNaming } from "../toolset-naming.ts";
import { type Diagnostic, parseDiagnostics } from "./parse-diagnostics.ts";

/** The options of the toolset `diagnostics`: where diagnostics come from. One of both is needed. */
export interface DiagnosticsOptions extends ToolsetNaming {
  /**
   * A compiler or linter and its arguments, such as `["tsc", "--noEmit"]`, which runs in the sandbox `process`. It must write
   * diagnostics as `path(line,column): error …` or `path:line:column: error …`.
   */
  readonly command?: readonly [program: string, ...args: string[]];
  /** A function of the embedder, such as a client of a language server. */
  readonly find?: (paths: readonly string[], context: HostContext) => MaybePromise<readonly Diagnostic[]>;
}

/** The most diagnostics in an answer, and the most other lines. */
const MAX_DIAGNOSTICS = 500;
const MAX_OTHERS = 50;

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
          result: ({ exitCode, stdout, stderr }, { paths = [] }: { readonly paths?: readonly string[] }) => {
            const { diagnostics, others } = parseDiagnostics(`${stdout}\n${stderr}`);
            const asked = diagnostics.filter(({ path }) => paths.length === 0 || isAsked(path, paths));
            return { exitCode, ...shorten(asked, others) };
          },
        },
      }),
    }),
  ];
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
