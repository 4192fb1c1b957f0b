import type { JsonObject } from "../../json/value.ts";
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

const MCP = /^mcp__(.+?)__(.+)$/s;

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
      const [, server, tool] = MCP.exec(name) ?? [];
      const actions =
        server === undefined || tool === undefined
          ? mapped(tools, name, given, cwd)
          : [mcpCall(server, tool, given)];
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
