import { type OptionNames, refuseUnknown } from "../base/unknown-names.ts";
import { DuplicateToolError } from "../engine/registered-tool.ts";
import type { ToolRegistry } from "../engine/registry.ts";
import type { Tool } from "../engine/tool.ts";
import { compileNamePattern } from "../policy/match/name-pattern.ts";
import { SIDE_EFFECTS, type SideEffects } from "../tool/side-effects.ts";
import { catalogueTools } from "./catalogue/catalogue-tools.ts";
import { declare } from "./catalogue/describe-tools.ts";
import { ProgramChecker } from "./check/program-checker.ts";
import { RUN_PROGRAM, runProgramTool } from "./run-program.ts";
import { type ProgramTypes, TypeChecker } from "./type-checker.ts";

/** Options of the toolset `programs`. */
export interface ProgramOptions {
  /** What the name of each tool begins with, such as `project_`. Default: nothing. */
  readonly prefix?: string;
  /**
   * Patterns of the names of the tools that programs are meant to call, by which the class of `run_program` is found. The
   * grant of each call says which of them it may call. Default: all tools.
   */
  readonly tools?: readonly string[];
  /**
   * Whether TypeScript's compiler checks the types of programs in TypeScript before they run. Needs `typescript` 7 or later,
   * and a machine on which the sandbox `process` is available; where it is not, programs in TypeScript are refused. Default:
   * false, the literal parts of inputs are checked against the schemas of the tools.
   */
  readonly typeCheck?: boolean;
}

/** The member of `tools` for tools that are not declared by name. */
const ANY_TOOL = "[name: string]: (input?: any) => Promise<any>;";

/**
 * Returns the tools with which a model runs programs over the tools of a registry: `run_program`, `search_tools` and
 * `describe_tools`, without the prefix.
 */
export function programTools(
  registry: ToolRegistry<never>,
  { tools = ["*"], prefix = "", typeCheck = false }: ProgramOptions = {},
): readonly Tool[] {
  const checker = new ProgramChecker(typeCheck ? typesOf(registry) : undefined);
  const runProgram = runProgramTool(worstOf(registry, tools), checker, prefix);
  return [runProgram, ...catalogueTools(registry, prefix, [RUN_PROGRAM])];
}

/** @throws {TypeError} if TypeScript 7 is not installed. */
function typesOf(registry: ToolRegistry<never>): ProgramTypes {
  return {
    checker: new TypeChecker(),
    declare: (names) => {
      const named = names.filter((name) => registry.has(name)).map((name) => registry.get(name));
      return declare(named, "full", ANY_TOOL);
    },
  };
}

/**
 * The strictest class of the tools whose names match one of the patterns; `read` if there are none, since
 * programs can search.
 */
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

const NAMES: OptionNames<ProgramOptions> = { prefix: true, tools: true, typeCheck: true };

/**
 * Registers the tools with which a model runs programs: `run_program`, `search_tools` and `describe_tools`.
 * Register them after the tools that programs call: `run_program` gets the strictest class of the tools that
 * it can call.
 *
 * @throws {TypeError} if an option is invalid.
 * @throws {DuplicateToolError} if the name of one of the tools is taken.
 */
export function registerPrograms(registry: ToolRegistry, options: ProgramOptions = {}): void {
  refuseUnknown(options, NAMES, "registerPrograms");
  const { prefix = "" } = options;
  const tools = programTools(registry, options).map((tool) => ({ ...tool, name: `${prefix}${tool.name}` }));
  const taken = tools.find((tool) => registry.has(tool.name));
  if (taken !== undefined) throw new DuplicateToolError(taken.name, ["the name is taken"]);
  for (const tool of tools) registry.register(tool);
}
