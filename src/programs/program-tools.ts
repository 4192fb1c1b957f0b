import type { ToolRegistry } from "../engine/registry.ts";
import type { Tool } from "../engine/tool.ts";
import { compileNamePattern } from "../policy/match/name-pattern.ts";
import { SIDE_EFFECTS, type SideEffects } from "../tool/side-effects.ts";
import { catalogueTools } from "./catalogue/catalogue-tools.ts";
import { ProgramChecker } from "./check/program-checker.ts";
import { RUN_PROGRAM, runProgramTool } from "./run/run-program.ts";

/** Options of the toolset `programs`. */
export interface ProgramOptions {
  /** What the name of each tool begins with, such as `project_`. Default: nothing. */
  readonly prefix?: string;
  /**
   * Patterns of the names of the tools that programs are meant to call, by which the class of `run_program` is found. The
   * grant of each call says which of them it may call. Default: all tools.
   */
  readonly tools?: readonly string[];
}

/**
 * Returns the tools with which a model runs programs over the tools of a registry: `run_program`, `search_tools` and
 * `describe_tools`, without the prefix.
 */
export function programTools(
  registry: ToolRegistry<never>,
  { tools = ["*"], prefix = "" }: ProgramOptions = {},
): readonly Tool[] {
  const runProgram = runProgramTool(worstOf(registry, tools), new ProgramChecker(), prefix);
  return [runProgram, ...catalogueTools(registry, prefix, [RUN_PROGRAM])];
}

/** The worst class of the tools whose names match one of the patterns; `read` if there are none, as programs can search. */
function worstOf(registry: ToolRegistry<never>, patterns: readonly string[]): SideEffects {
  const compiled = patterns.map(compileNamePattern);
  let worst = SIDE_EFFECTS.indexOf("read");
  for (const { name, sideEffects } of registry.subjects) {
    if (compiled.some((pattern) => pattern.matches(name))) {
      worst = Math.max(worst, SIDE_EFFECTS.indexOf(sideEffects));
    }
  }
  return SIDE_EFFECTS[worst] ?? "destructive";
}
