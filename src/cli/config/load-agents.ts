import type { ConfigProblem } from "../../config/problem.ts";
import { type CompiledShape, compileShape, mapOf, TEXT } from "../../config/shape.ts";
import type { ConfigSource } from "../../config/source.ts";
import type { JsonObject } from "../../json/value.ts";
import type { AgentCapabilities } from "../../policy/kernel/agent-capabilities.ts";
import { checkAgentCapabilities } from "../../policy/kernel/agent-capabilities.ts";
import { canonicalCapabilities } from "../../supervisor/access/canonical-capabilities.ts";
import { absolutePathBeside } from "./config-path.ts";

const COUNT: JsonObject = { type: "integer", minimum: 0 };

/** The shape of `agents`: what each may have done for it. */
export const AGENTS_SHAPE: CompiledShape = compileShape({
  type: "object",
  additionalProperties: mapOf({
    tools: { type: "array", items: TEXT },
    fs: {
      type: "array",
      items: mapOf({ path: TEXT, mode: { type: "string", enum: ["r", "rw"] } }, ["path", "mode"]),
    },
    net: { type: "array", items: TEXT },
    limits: mapOf({ calls: COUNT, callsPerTool: { type: "object", additionalProperties: COUNT } }),
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
      const paths = fs?.map((each) => ({ ...each, path: absolutePathBeside(source.file, each.path) }));
      const capabilities = canonicalCapabilities({ ...others, ...(paths && { fs: paths }) });
      agents.set(name, checkAgentCapabilities(capabilities));
    } catch (error) {
      problems.push(source.problem(["agents", name], (error as TypeError).message));
    }
  }
  return agents;
}
