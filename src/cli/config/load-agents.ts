import type { ConfigProblem } from "../../config/problem.ts";
import { type CompiledShape, compileShape, described, FLAG, mapOf, PATH, TEXTS } from "../../config/shape.ts";
import type { ConfigSource } from "../../config/source.ts";
import type { JsonObject } from "../../json/value.ts";
import { type AgentCapabilities, checkAgentCapabilities } from "../../policy/agent-capabilities.ts";
import { canonicalCapabilities } from "../../supervisor/access/canonical-path.ts";
import { absolutePathBeside } from "./guard-code.ts";

const COUNT: JsonObject = { type: "integer", minimum: 0 };

/** The shape of `agents`: what each may have done for it. */
export const AGENTS_SHAPE: CompiledShape = compileShape({
  type: "object",
  additionalProperties: mapOf({
    tools: described(TEXTS, "Names of tools, in which `*` stands for any characters. Default: none."),
    fs: described(
      {
        type: "array",
        items: {
          ...mapOf({
            directory: described(
              PATH,
              "A directory with all that is below it. Exactly one of `directory` and `file` must be set.",
            ),
            file: described(PATH, "A file."),
            write: described(FLAG, "Whether tools may also write there. Default: `false`."),
          }),
        },
      },
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
          { type: "object", additionalProperties: COUNT },
          "How many calls it may make of a tool, by its name. Default: any number.",
        ),
      }),
      "How many calls the agent may make. Calls that tools make count, denied calls do not. Default: any number.",
    ),
  }),
});

type AgentsEntry = Readonly<Record<string, AgentCapabilities>>;

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
  const entry = source.read<AgentsEntry>(AGENTS_SHAPE, problems, ["agents"]);
  for (const [name, { fs, ...others }] of Object.entries(entry?.value ?? {})) {
    try {
      const paths = fs?.map((each) =>
        "file" in each
          ? { ...each, file: absolutePathBeside(source.file, each.file) }
          : { ...each, directory: absolutePathBeside(source.file, each.directory) },
      );
      const capabilities = canonicalCapabilities({ ...others, ...(paths && { fs: paths }) });
      agents.set(name, checkAgentCapabilities(capabilities));
    } catch (error) {
      problems.push(source.problem(["agents", name], (error as TypeError).message));
    }
  }
  return agents;
}
