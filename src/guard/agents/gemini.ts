import { isJsonObject, type JsonObject } from "../../json/value.ts";
import {
  type Action,
  commandIn,
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
  ...steps(["invoke_agent", "write_todos"]),
  run_shell_command: commandIn(["dir_path", "directory"]),
  read_file: reads("file_path", ["offset", "limit", "start_line", "end_line"]),
  write_file: writes("file_path", ["content"]),
  replace: writes("file_path", [
    "old_string",
    "new_string",
    "instruction",
    "expected_replacements",
    "allow_multiple",
  ]),
  glob: searches(["dir_path", "path"], ["pattern"], ["case_sensitive", "respect_git_ignore"]),
  grep_search: searches(
    ["dir_path", "path"],
    ["include_pattern", "include"],
    ["pattern", "names_only", "max_matches_per_file", "total_max_matches", "context", "case_sensitive"],
  ),
  list_directory: searches(["dir_path", "path"], [], ["ignore"]),
  web_fetch: { members: ["prompt"], actions: (input) => urlsIn(text(input, "prompt")) },
  google_web_search: WEB_SEARCH,
};

export const gemini: GuardedAgent = {
  name: "gemini",
  title: "Gemini CLI",
  hook: {
    kind: "json",
    path: ".gemini/settings.json",
    event: "BeforeTool",
    // Milliseconds.
    entry: { type: "command", timeout: 60_000 },
  },
  settings: [".gemini"],
  rewrites: true,
  gaps: [
    {
      what: "hooks and MCP servers of the agent",
      gap: "run unconfined when the agent starts them, before any call",
    },
    { what: "the agent's own variables", gap: "the hook is started with the key of the model, and drops it" },
  ],
  read: (input) => {
    const cwd = text(input, "cwd");
    const name = text(input, "tool_name");
    const given = object(input, "tool_input");
    const { mcp_context: context } = input;
    const actions = isJsonObject(context)
      ? [mcpCall(text(context, "server_name"), text(context, "tool_name"), given)]
      : mapped(TOOLS, name, given, cwd);
    return { sessionId: text(input, "session_id"), cwd, actions };
  },
  write: (decision, input): JsonObject => {
    if (decision.decision === "allow") return {};
    if (decision.decision === "deny") return { decision: "deny", reason: decision.reason };
    const rewritten = withCommand(object(input, "tool_input"), decision);
    return { hookSpecificOutput: { hookEventName: "BeforeTool", tool_input: rewritten } };
  },
};

/** The URLs are part of a text for the model. If none is found, it is unknown what would be fetched. */
function urlsIn(prompt: string): readonly Action[] {
  const urls = prompt.match(/https?:\/\/[^\s"'<>`]+/giu) ?? [];
  return urls.map((url) => ({
    kind: "other",
    tool: "web_fetch",
    arguments: { url: url.replace(/[.,;:!?)\]}]+$/, ""), purpose: prompt },
  }));
}
