import { defineTool, type Tool } from "../engine/tool.ts";
import type { JsonObject } from "../json/value.ts";
import { ToolFailure } from "../tool/tool-failure.ts";
import type { ToolTraits } from "../tool/tool-traits.ts";
import { inputSchema } from "./tool-parts.ts";

/** Longer than any command may take: an agent has a time limit of its own. */
const COMMAND_MS = 3_600_000;

const PATH = {
  path: { type: "string", minLength: 1, description: "Relative to the workspace, without links" },
} as const;
const OUTSIDE = {
  path: {
    type: "string",
    minLength: 1,
    description: "An absolute path without links that does not lead into the workspace",
  },
} as const;
const COMMAND = { command: { type: "string", minLength: 1, maxLength: 100_000 } } as const;
const CWD = { cwd: { type: "string", minLength: 1, description: "The working directory" } } as const;
const NAME = { type: "string", minLength: 1, maxLength: 512 } as const;
const ANY: JsonObject = { type: "object", description: "As the agent has it" };

const READS = { usesFiles: true, paths: [{ argument: "/path", access: "read" }] } as const;
const WRITES = { usesFiles: true, paths: [{ argument: "/path", access: "write" }] } as const;

/**
 * What coding agents do with tools of their own, as tools that a policy can name. `sandgate guard` maps the calls of each agent to
 * them: the agent itself does what is allowed, except for commands, of which it runs the confined form.
 */
export function guardTools(): readonly Tool[] {
  return [
    byAgent("read_file", "reads a file in the workspace", PATH, {
      traits: { sideEffects: "read", ...READS },
    }),
    byAgent("search_files", "lists or searches a directory in the workspace", PATH, {
      optional: { query: ANY },
      traits: { sideEffects: "read", ...READS },
    }),
    byAgent("write_file", "writes a file in the workspace", PATH, {
      optional: { change: ANY },
      traits: { sideEffects: "write", ...WRITES },
    }),
    byAgent("delete_file", "deletes a file in the workspace", PATH, {
      optional: { change: ANY },
      traits: { sideEffects: "destructive", ...WRITES },
    }),
    byAgent("read_outside", "reads, lists or searches outside the workspace", OUTSIDE, {
      optional: { query: ANY },
      traits: { sideEffects: "read" },
    }),
    byAgent("write_outside", "writes or deletes outside the workspace", OUTSIDE, {
      optional: { change: ANY },
      traits: { sideEffects: "destructive" },
    }),
    runCommand,
    byAgent("run_unconfined_command", "runs a command that nothing confines", COMMAND, {
      optional: CWD,
      traits: { sideEffects: "destructive", confirm: "always" },
    }),
    byAgent(
      "web_fetch",
      "fetches a page",
      { url: { type: "string", minLength: 1 } },
      {
        optional: { purpose: { type: "string" } },
        traits: { sideEffects: "network", urls: [{ argument: "/url" }] },
      },
    ),
    byAgent(
      "web_search",
      "has its provider search the web",
      { query: { type: "string" } },
      { traits: { sideEffects: "network" } },
    ),
    byAgent(
      "call_mcp_tool",
      "calls a tool of an MCP server",
      { server: NAME, tool: NAME, arguments: ANY },
      { traits: { sideEffects: "destructive" } },
    ),
    byAgent(
      "agent_step",
      "takes a step that reaches nothing outside of it, such as a change of its list of tasks",
      { tool: NAME, arguments: ANY },
      { traits: { sideEffects: "none" } },
    ),
    byAgent(
      "use_unknown_tool",
      "uses a tool that Sandgate does not know",
      { tool: NAME, arguments: ANY },
      { traits: { sideEffects: "destructive" } },
    ),
  ];
}

/** Runs in the sandbox `process` as `sandgate run`, which the agent starts in place of the command. */
const runCommand = defineTool({
  name: "run_command",
  description: "A coding agent runs a command with bash in the workspace, confined.",
  sideEffects: "execute",
  timeoutMs: COMMAND_MS,
  inputSchema: inputSchema(COMMAND, CWD),
  process: {
    command: "bash",
    args: ["-c", "--", { argument: "/command" }],
    cwd: { argument: "/cwd" },
    input: "none",
    output: "completion",
    reportsChanges: true,
    idleMs: () => COMMAND_MS,
  },
});

function byAgent(
  name: string,
  does: string,
  required: JsonObject,
  { optional = {}, traits }: { readonly optional?: JsonObject; readonly traits: ToolTraits },
): Tool {
  return defineTool({
    ...(traits as object),
    name,
    description: `A coding agent ${does}.`,
    inputSchema: inputSchema(required, optional) as JsonObject,
    host: () => {
      throw new ToolFailure("execution_error", "Only a coding agent behind `sandgate guard` can do this", {
        effect: "none",
      });
    },
  });
}

/** The names of the tools of {@link guardTools}. */
export const GUARD_TOOL_NAMES: ReadonlySet<string> = new Set(guardTools().map(({ name }) => name));
