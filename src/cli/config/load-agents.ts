import type { ConfigProblem } from "../../config/problem.ts";
import { type CompiledShape, compileShape, described, FLAG, mapOf, PATH, TEXTS } from "../../config/shape.ts";
import type { ConfigSource } from "../../config/source.ts";
import { integer, list, record, type Shape as Typed, type TypeOf } from "../../json/shape.ts";
import { type AgentCapabilities, checkAgentCapabilities } from "../../policy/agent-capabilities.ts";
import { canonicalCapabilities } from "../../supervisor/access/canonical-path.ts";
import { absolutePathBeside } from "./guard-code.ts";

const COUNT: Typed<number> = integer({ minimum: 0 });

const AGENTS = record(
  mapOf({
    tools: described(TEXTS, "Names of tools, in which `*` stands for any characters. Default: none."),
    fs: described(
      list(
        mapOf({
          directory: described(
            PATH,
            "A directory with all that is below it. Exactly one of `directory` and `file` must be set.",
          ),
          file: described(PATH, "A file."),
          write: described(FLAG, "Whether tools may also write there.", false),
        }),
      ),
      "Files and folders that tools may use for the agent. Default: none.",
    ),
    net: described(
      TEXTS,
      "Origins that tools may reach for the agent, such as `https://*.example.com`. Default: none.",
    ),
    limits: described(
      mapOf({
        calls: described(COUNT, "How many calls the agent may make of all tools. Default: any number."),
        callsPerTool: described(
          record(COUNT),
          "How many calls it may make of a tool, by its name. Default: any number.",
        ),
      }),
      "How many calls the agent may make. Calls that tools make count, denied calls do not. Default: any number.",
    ),
  }),
);

/** The shape of `agents`: what each may have done for it. */
export const AGENTS_SHAPE: CompiledShape = compileShape(AGENTS);

/** The capabilities of each agent of a config, by its name. */
export type ConfiguredAgents = ReadonlyMap<string, AgentCapabilities>;

/**
 * Loads `agents` of a config. Paths are relative to the file.
 *
 * @param problems Receives every problem.
 */
export function loadAgents(source: ConfigSource, problems: ConfigProblem[]): ConfiguredAgents {
  const agents = new Map<string, AgentCapabilities>();
  if (source.at(["agents"]) === undefined) return agents;
  const entry = source.read<TypeOf<typeof AGENTS>>(AGENTS_SHAPE, problems, ["agents"]);
  for (const [name, { fs, ...others }] of Object.entries(entry?.value ?? {})) {
    try {
      // One with neither a directory nor a file, or both, is refused below.
      const paths = fs?.map(({ directory, file, ...grant }) => ({
        ...grant,
        ...(directory !== undefined && { directory: absolutePathBeside(source.file, directory) }),
        ...(file !== undefined && { file: absolutePathBeside(source.file, file) }),
      }));
      const capabilities = canonicalCapabilities({
        ...others,
        ...(paths && { fs: paths }),
      } as AgentCapabilities);
      agents.set(name, checkAgentCapabilities(capabilities));
    } catch (error) {
      problems.push(source.problem(["agents", name], (error as TypeError).message));
    }
  }
  return agents;
}
