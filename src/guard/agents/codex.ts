import {
  type Action,
  COMMAND,
  type GuardedAgent,
  MappingError,
  reads,
  steps,
  type ToolMapping,
  text,
  WEB_SEARCH,
} from "../agent.ts";
import { preToolUse } from "./claude-code.ts";

const TOOLS: Readonly<Record<string, ToolMapping>> = {
  ...steps(["get_goal", "list_mcp_resources", "multi_agent_v1wait_agent", "spawn_agent", "update_plan"]),
  Bash: COMMAND,
  apply_patch: { members: ["command"], actions: (input) => patched(text(input, "command")) },
  view_image: reads("path", ["detail"]),
  web_search: WEB_SEARCH,
};

export const codex: GuardedAgent = {
  name: "codex",
  title: "Codex",
  hook: {
    kind: "json",
    path: ".codex/hooks.json",
    event: "PreToolUse",
    entry: { type: "command", timeout: 60 },
  },
  settings: [".codex"],
  rewrites: true,
  gaps: [
    {
      what: "write_stdin",
      gap: "fires no hook: what is typed into a running command is not seen. A confined command has no input, so that nothing can be typed into it; one that a person allowed unconfined can",
    },
    {
      what: "trust",
      gap: "Codex skips a hook in the user's files, without a word, until you trust it: open Codex, enter /hooks, compare the command, and trust it. Any change of it has to be trusted again",
    },
    { what: "web_search of the provider", gap: "may run at the provider without a hook" },
    { what: "--ignore-user-config, --disable hooks, [features] hooks = false", gap: "run without hooks" },
  ],
  ...preToolUse(TOOLS),
};

const CHANGES: Readonly<Record<string, "write" | "delete">> = {
  "Add File": "write",
  "Update File": "write",
  "Move to": "write",
  "Delete File": "delete",
};

/**
 * Returns what a patch changes. Lines of a file's text can look like the names of files: these are taken as such, since more is
 * decided on then, not less.
 */
export function patched(patch: string): readonly Action[] {
  const actions: Action[] = [];
  // Whatever may end a line for the agent ends one here.
  for (const line of patch.split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/)) {
    const marker = line.trim();
    if (!marker.startsWith("***")) continue;
    // With its blanks, which belong to the name for some agents.
    const [, what = "", path = ""] = /^\s*\*\*\*\s*([A-Za-z ]+?)\s*: ?(.+)$/s.exec(line) ?? [];
    const kind = Object.hasOwn(CHANGES, what) ? CHANGES[what] : undefined;
    if (kind !== undefined) actions.push({ kind, path, change: { patch } });
    else if (!/^\*\*\* (?:Begin Patch|End Patch|End of File)$/.test(marker) && !line.startsWith("+"))
      throw new MappingError(`a line of the patch is not known: ${marker.slice(0, 80)}`);
  }
  return actions;
}
