import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import {
  COMMAND,
  fetches,
  type GuardedAgent,
  mapped,
  mcpCall,
  object,
  reads,
  searches,
  steps,
  type ToolMapping,
  text,
  WEB_SEARCH,
  withCommand,
  writes,
} from "../agent.ts";

const TOOLS: Readonly<Record<string, ToolMapping>> = {
  ...steps([
    "Agent",
    "AskUserQuestion",
    "BashOutput",
    "EnterPlanMode",
    "ExitPlanMode",
    "KillShell",
    "Task",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskOutput",
    "TaskStop",
    "TaskUpdate",
    "TodoWrite",
    "ToolSearch",
  ]),
  Bash: COMMAND,
  Read: reads("file_path", ["offset", "limit", "pages"]),
  Write: writes("file_path", ["content"]),
  Edit: writes("file_path", ["old_string", "new_string", "replace_all"]),
  MultiEdit: writes("file_path", ["edits"]),
  NotebookEdit: writes("notebook_path", ["cell_id", "new_source", "cell_type", "edit_mode"]),
  Glob: searches(["path"], ["pattern"]),
  Grep: searches(
    ["path"],
    ["glob"],
    [
      "pattern",
      "output_mode",
      "-A",
      "-B",
      "-C",
      "-i",
      "-n",
      "context",
      "head_limit",
      "multiline",
      "offset",
      "type",
    ],
  ),
  LS: searches(["path"], [], ["ignore"]),
  WebFetch: fetches("url", ["prompt"]),
  WebSearch: WEB_SEARCH,
};

const MCP = "mcp__";

/**
 * Returns the server and the tool of an MCP tool. Names of servers may have the separator, so that only the server that the agent names
 * says where that of the tool begins.
 *
 * @returns `undefined` if they are not certain.
 */
function mcpTool(name: string, named: JsonValue | undefined): { server: string; tool: string } | undefined {
  const server = isJsonObject(named) ? named["name"] : undefined;
  if (typeof server === "string") {
    const prefix = `${MCP}${server.replace(/[^\w-]/g, "_")}__`;
    const tool = name.slice(prefix.length);
    return name.startsWith(prefix) && tool !== "" ? { server, tool } : undefined;
  }
  const [first, tool, ...more] = name.slice(MCP.length).split("__");
  return first && tool && more.length === 0 ? { server: first, tool } : undefined;
}

export const claudeCode: GuardedAgent = {
  name: "claude-code",
  title: "Claude Code",
  hook: {
    kind: "json",
    path: ".claude/settings.json",
    managed: "/etc/claude-code/managed-settings.json",
    event: "PreToolUse",
    entry: { type: "command", timeout: 60, onFailure: "block" },
  },
  settings: [".claude", ".claude.json"],
  rewrites: true,
  gaps: [
    {
      what: "settings of a project",
      gap: 'a `.claude/settings.json` with `"disableAllHooks": true` switches a user\'s hook off, even while a session runs; not one that was installed with --managed',
    },
    { what: "claude --bare", gap: "runs without hooks" },
    {
      what: "hooks and MCP servers of the agent",
      gap: "run unconfined when the agent starts them, before any call",
    },
  ],
  ...preToolUse(TOOLS),
};

/** What hooks read and write that have the shape of those of Claude Code. */
export function preToolUse(
  tools: Readonly<Record<string, ToolMapping>>,
): Pick<GuardedAgent, "read" | "write"> {
  return {
    read: (input) => {
      const cwd = text(input, "cwd");
      const name = text(input, "tool_name");
      const given = object(input, "tool_input");
      const mcp = name.startsWith(MCP) ? mcpTool(name, input["mcp_server"]) : undefined;
      const actions =
        mcp === undefined ? mapped(tools, name, given, cwd) : [mcpCall(mcp.server, mcp.tool, given)];
      return { sessionId: text(input, "session_id"), cwd, actions };
    },
    write: (decision, input): JsonObject => {
      if (decision.decision === "allow") return {};
      const permission =
        decision.decision === "deny"
          ? { permissionDecision: "deny", permissionDecisionReason: decision.reason }
          : {
              permissionDecision: "allow",
              updatedInput: withCommand(object(input, "tool_input"), decision),
            };
      return { hookSpecificOutput: { hookEventName: "PreToolUse", ...permission } };
    },
  };
}
