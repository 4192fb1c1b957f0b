import { type OptionNames, refuseUnknown } from "../base/unknown-names.ts";
import type { DispatchContext } from "../engine/call/context.ts";
import { compileNamePattern } from "../policy/match/name-pattern.ts";
import { type AiSdkTool, aiSdkToolSet } from "../protocols/providers/ai-sdk-tool-set.ts";
import type { ToolSetTurn } from "../protocols/providers/dispatching.ts";
import { type DescribeOptions, describe } from "./catalogue/describe-tools.ts";
import { RUN_PROGRAM } from "./run-program.ts";

/** The version of Anthropic's code execution by which programs are named in `allowed_callers`. */
export type CodeExecution = "code_execution_20250825" | "code_execution_20260120" | "code_execution_20260521";

/** Who may call a tool of Anthropic's Messages API: the model itself, or the code that it writes. */
export type AllowedCaller = "direct" | CodeExecution;

/** Who may call which tools, as patterns of names in which `*` matches anything. */
export interface CallerPatterns {
  /** The tools that the model may call itself. Default: all that programs may not call. */
  readonly direct?: readonly string[];
  /** The tools that programs may call. */
  readonly programs: readonly string[];
}

/**
 * Adds `allowed_callers` to the definitions of tools for Anthropic's Messages API. A tool that no pattern matches is left
 * out.
 *
 * @param version Default: `"code_execution_20260120"`.
 */
export function withAllowedCallers<Definition extends { readonly name: string }>(
  tools: readonly Definition[],
  { direct, programs }: CallerPatterns,
  version: CodeExecution = "code_execution_20260120",
): (Definition & { allowed_callers: AllowedCaller[] })[] {
  const matches = (patterns: readonly string[]): ((name: string) => boolean) => {
    const compiled = patterns.map(compileNamePattern);
    return (name) => compiled.some((pattern) => pattern.matches(name));
  };
  const isForPrograms = matches(programs);
  const isDirect = direct === undefined ? (name: string) => !isForPrograms(name) : matches(direct);
  return tools.flatMap((tool) => {
    const callers: AllowedCaller[] = [
      ...(isDirect(tool.name) ? ["direct" as const] : []),
      ...(isForPrograms(tool.name) ? [version] : []),
    ];
    return callers.length === 0 ? [] : [{ ...tool, allowed_callers: callers }];
  });
}

/** A tool as an Anthropic request defines it; the tools of the API itself have no `allowed_callers` of this kind. */
export interface CallableDefinition {
  readonly name: string;
  readonly allowed_callers?: readonly string[] | null;
}

/**
 * Reads the `allowed_callers` of definitions: the names of the tools to offer to the model, and of those to give to
 * programs as the capability `tools` of their grant. Without `allowed_callers`, a tool is `direct`, as in the API.
 */
export function readAllowedCallers(tools: readonly CallableDefinition[]): {
  readonly direct: readonly string[];
  readonly programs: readonly string[];
} {
  const named = (isCaller: (caller: string) => boolean): readonly string[] =>
    tools
      .filter(({ allowed_callers: callers }) => (callers ?? ["direct"]).some(isCaller))
      .map(({ name }) => name);
  return {
    direct: named((caller) => caller === "direct"),
    programs: named((caller) => caller.startsWith("code_execution_")),
  };
}

const NAMES: OptionNames<AiSdkProgramOptions> = { declarations: true, prefix: true };

/** Options of {@link toAiSdkTool}. */
export interface AiSdkProgramOptions {
  /** The tools whose declarations the description ends with. Default: none, so that programs search for tools. */
  readonly declarations?: DescribeOptions;
  /** The `prefix` with which the toolset was registered. Default: none. */
  readonly prefix?: string;
}

/**
 * Returns `run_program` as a tool of AI SDK 7: the only one that the model is offered, unless you pass other
 * tools. Its calls, and those of programs, are dispatched in the context or the turn of a session, in whose
 * registry the toolset `programs` must be registered.
 *
 * @throws {TypeError} if it is not.
 */
export function toAiSdkTool<Embedder = unknown>(
  contextOrTurn: DispatchContext<Embedder> | ToolSetTurn,
  options: AiSdkProgramOptions = {},
): AiSdkTool {
  refuseUnknown(options, NAMES, "toAiSdkTool");
  const { declarations, prefix = "" } = options;
  const tool = aiSdkToolSet(contextOrTurn).tools[prefix + RUN_PROGRAM];
  if (tool === undefined) throw new TypeError("the toolset 'programs' is not registered with this prefix");
  if (declarations === undefined) return tool;
  return { ...tool, description: `${tool.description}\n\n${describe(contextOrTurn.registry, declarations)}` };
}
