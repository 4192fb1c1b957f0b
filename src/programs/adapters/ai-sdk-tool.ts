import { type OptionNames, refuseUnknown } from "../../base/unknown-names.ts";
import type { DispatchContext } from "../../engine/call/context.ts";
import { type AiSdkTool, aiSdkToolSet } from "../../protocols/providers/ai-sdk-tool-set.ts";
import { type DescribeOptions, describe } from "../catalogue/describe-tools.ts";
import { RUN_PROGRAM } from "../run-program.ts";

const NAMES: OptionNames<AiSdkProgramOptions> = { declarations: true, prefix: true };

/** Options of {@link toAiSdkTool}. */
export interface AiSdkProgramOptions {
  /** The tools whose declarations the description ends with. Default: none, so that programs search for tools. */
  readonly declarations?: DescribeOptions;
  /** The `prefix` with which the toolset was registered. Default: none. */
  readonly prefix?: string;
}

/**
 * Returns `run_program` as a tool of AI SDK 7: the only one that the model is offered, if you pass no others. Its calls,
 * and those of programs, are dispatched in the context, in whose registry the toolset `programs` must be registered.
 *
 * @throws {TypeError} if it is not.
 */
export function toAiSdkTool<Embedder = unknown>(
  context: DispatchContext<Embedder>,
  options: AiSdkProgramOptions = {},
): AiSdkTool {
  refuseUnknown(options, NAMES, "toAiSdkTool");
  const { declarations, prefix = "" } = options;
  const tool = aiSdkToolSet(context).tools[prefix + RUN_PROGRAM];
  if (tool === undefined) throw new TypeError("the toolset 'programs' is not registered with this prefix");
  if (declarations === undefined) return tool;
  return { ...tool, description: `${tool.description}\n\n${describe(context.registry, declarations)}` };
}
