import type { Tool } from "../engine/tool.ts";
import { QUICKJS_DEFAULT_LIMITS } from "../sandboxes/quickjs/quickjs-limits.ts";
import type { SideEffects } from "../tool/side-effects.ts";
import type { PreflightContext } from "../tool/tool-traits.ts";
import type { ProgramChecker } from "./check/program-checker.ts";
import { PROGRAM_RUNTIME } from "./runtime-source.ts";

/** The longest program, in UTF-16 code units. */
const MAX_CODE_LENGTH = 65_536;

/** The name of the tool that runs programs. */
export const RUN_PROGRAM = "run_program";

/** The arguments of `run_program`. */
interface ProgramInput {
  readonly code: string;
  readonly language?: "js" | "ts";
}

/** How many calls a program may make, unless a rule grants another number. */
const { nestedCalls: MAX_CALLS } = QUICKJS_DEFAULT_LIMITS;

const descriptionWith = (
  prefix: string,
): string => `Runs a program in a sandbox and returns its value. Use it to call several tools at once, and to keep what you do not need out of the conversation.
Write JavaScript or TypeScript: an expression, or statements as in an async function. What is returned, or else the value of the last expression, is the result, which must be JSON. tools.<name>(input) calls a tool and resolves to its output; it throws an Error with code and message if the call fails. Use Promise.all for calls that do not depend on each other; a program can make ${MAX_CALLS} calls unless it is granted another number. tools.${prefix}search_tools({ query }) finds tools, tools.${prefix}describe_tools({ names }) shows their types. console.log writes to the log, whose ends you read. There is no other access to files or the network.
Example:
const found = await tools.${prefix}search_tools({ query: "weather" });
const cities = await Promise.all(["Oslo", "Rome"].map((city) => tools.get_weather({ city })));
cities.filter(({ celsius }) => celsius > 20)`;

/**
 * Returns the tool that runs a program: JavaScript or TypeScript that calls other tools.
 *
 * @param sideEffects The worst that the tools which a program may call can do.
 * @param prefix What the names of the tools for finding others begin with.
 */
export function runProgramTool(sideEffects: SideEffects, checker: ProgramChecker, prefix: string): Tool {
  return {
    name: RUN_PROGRAM,
    title: "Run a program",
    description: descriptionWith(prefix),
    sideEffects,
    reportsWork: true,
    searchesTools: true,
    preflight: ({ code, language }: ProgramInput, context: PreflightContext) =>
      checker.problemsOf({ code, language }, context),
    inputSchema: {
      type: "object",
      properties: {
        code: { type: "string", minLength: 1, maxLength: MAX_CODE_LENGTH, description: "The program" },
        language: { enum: ["js", "ts"], description: "Default: found by the code" },
      },
      required: ["code"],
      additionalProperties: false,
    },
    quickjs: { source: PROGRAM_RUNTIME, typedCode: { code: "code", language: "language" } },
  };
}
