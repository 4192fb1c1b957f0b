import type { JsonObject } from "../../src/json/value.ts";
import { MemoryKeyValue } from "../../src/tool/key-value-store.ts";
import type { SideEffects } from "../../src/tool/side-effects.ts";
import type { ToolsetName, ToolsetOptions } from "../../src/toolsets/toolsets.ts";

/** Options of the sets that need some. */
export const TOOLSET_OPTIONS: { readonly [Name in ToolsetName]: ToolsetOptions[Name] } = {
  ask: {},
  basic: {},
  basic5: {},
  fs: {},
  search: {},
  index: {},
  diagnostics: { command: ["true"] },
  git: {},
  guard: {},
  memory: {},
  plan: {},
  programs: {},
  settings: { get: () => 1, update: () => true, switchBackend: () => true },
  web: { search: { url: "http://search.test/v1{?query}" } },
  shell: {},
  system: {},
};

/** Other options of sets, with which their tools are implemented in another way. */
export const OTHER_OPTIONS: { readonly [Name in ToolsetName]?: ToolsetOptions[Name] } = {
  diagnostics: { find: () => [] },
  git: { author: { name: "Agent", email: "a@example.org" }, commitTrailers: () => ({ "X-AI-Model": "m" }) },
  memory: { stores: new MemoryKeyValue() },
  shell: { testCommand: "true", failOnExit: true },
};

/** What a tool of a toolset declares. */
interface ToolsetRow {
  readonly tool: string;
  readonly sideEffects: SideEffects;
  /** Absent: what its class says. */
  readonly confirm?: "auto" | "prompt" | "always" | "plan";
  /** Arguments with which a call of it starts, whether it succeeds or not. */
  readonly arguments: JsonObject;
}

/** The tools of every toolset, as docs/toolsets.md names them. */
export const TOOLSET_TABLE: { readonly [Name in ToolsetName]: readonly ToolsetRow[] } = {
  programs: [
    { tool: "run_program", sideEffects: "read", arguments: { code: "1" } },
    { tool: "search_tools", sideEffects: "none", arguments: { query: "a" } },
    { tool: "describe_tools", sideEffects: "none", arguments: { names: ["a"] } },
  ],
  plan: [{ tool: "submit_plan", sideEffects: "none", confirm: "plan", arguments: { plan: "a" } }],
  ask: [{ tool: "ask_user", sideEffects: "none", arguments: { question: "a" } }],
  basic: [
    { tool: "Echo", sideEffects: "none", arguments: { text: "a" } },
    { tool: "Read", sideEffects: "read", arguments: { path: "a.txt" } },
    { tool: "Write", sideEffects: "write", confirm: "prompt", arguments: { path: "a.txt", content: "a" } },
  ],
  basic5: [
    { tool: "read_file", sideEffects: "read", arguments: { path: "a.txt" } },
    { tool: "write_file", sideEffects: "write", confirm: "prompt", arguments: { path: "a", content: "a" } },
    {
      tool: "patch_file",
      sideEffects: "write",
      confirm: "prompt",
      arguments: { path: "a", old: "a", new: "b" },
    },
    { tool: "list_dir", sideEffects: "read", arguments: {} },
    { tool: "shell", sideEffects: "execute", confirm: "prompt", arguments: { command: "true" } },
  ],
  fs: [
    { tool: "read_file", sideEffects: "read", arguments: { path: "a.txt" } },
    { tool: "write_file", sideEffects: "write", confirm: "prompt", arguments: { path: "a", content: "a" } },
    {
      tool: "edit_file",
      sideEffects: "write",
      confirm: "prompt",
      arguments: { path: "a", edits: [{ old: "a", new: "b" }] },
    },
    {
      tool: "patch_file",
      sideEffects: "write",
      confirm: "prompt",
      arguments: { path: "a", old: "a", new: "b" },
    },
    { tool: "list_directory", sideEffects: "read", arguments: {} },
    { tool: "delete_file", sideEffects: "destructive", confirm: "prompt", arguments: { path: "a" } },
  ],
  search: [
    { tool: "search_files", sideEffects: "read", confirm: "auto", arguments: { pattern: "*.ts" } },
    { tool: "grep", sideEffects: "read", confirm: "auto", arguments: { pattern: "a" } },
    { tool: "find_references", sideEffects: "read", confirm: "auto", arguments: { symbol: "a" } },
  ],
  index: [
    { tool: "project_knowledge_search", sideEffects: "read", confirm: "auto", arguments: { query: "a" } },
  ],
  diagnostics: [{ tool: "get_diagnostics", sideEffects: "read", arguments: {} }],
  git: [
    { tool: "git_status", sideEffects: "read", confirm: "auto", arguments: {} },
    { tool: "git_diff", sideEffects: "read", confirm: "auto", arguments: {} },
    { tool: "git_log", sideEffects: "read", confirm: "auto", arguments: {} },
    { tool: "git_stage", sideEffects: "write", confirm: "prompt", arguments: { paths: ["a"] } },
    { tool: "git_branch", sideEffects: "write", confirm: "prompt", arguments: { action: "list" } },
    { tool: "git_stash", sideEffects: "write", confirm: "prompt", arguments: { action: "list" } },
    { tool: "git_commit", sideEffects: "write", confirm: "prompt", arguments: { message: "a" } },
    { tool: "git_push", sideEffects: "network", confirm: "prompt", arguments: {} },
    { tool: "git_pull", sideEffects: "network", confirm: "prompt", arguments: {} },
  ],
  guard: [
    { tool: "read_file", sideEffects: "read", arguments: { path: "a.txt" } },
    { tool: "search_files", sideEffects: "read", arguments: { path: "." } },
    { tool: "write_file", sideEffects: "write", arguments: { path: "a.txt" } },
    { tool: "delete_file", sideEffects: "destructive", arguments: { path: "a.txt" } },
    { tool: "read_outside", sideEffects: "read", arguments: { path: "/a" } },
    { tool: "write_outside", sideEffects: "destructive", arguments: { path: "/a" } },
    { tool: "run_command", sideEffects: "execute", arguments: { command: "true" } },
    {
      tool: "run_unconfined_command",
      sideEffects: "destructive",
      confirm: "always",
      arguments: { command: "true" },
    },
    { tool: "web_fetch", sideEffects: "network", arguments: { url: "https://example.org/" } },
    { tool: "web_search", sideEffects: "network", arguments: { query: "a" } },
    {
      tool: "call_mcp_tool",
      sideEffects: "destructive",
      arguments: { server: "a", tool: "b", arguments: {} },
    },
    { tool: "agent_step", sideEffects: "none", arguments: { tool: "a", arguments: {} } },
    { tool: "use_unknown_tool", sideEffects: "destructive", arguments: { tool: "a", arguments: {} } },
  ],
  memory: [
    { tool: "memory_add", sideEffects: "write", arguments: { text: "a" } },
    { tool: "memory_replace", sideEffects: "write", arguments: { key: "a", text: "a" } },
    { tool: "memory_consolidate", sideEffects: "write", arguments: { keys: ["a"], text: "a" } },
  ],
  settings: [
    { tool: "get_setting", sideEffects: "read", arguments: { name: "a" } },
    { tool: "update_setting", sideEffects: "write", confirm: "always", arguments: { name: "a", value: 1 } },
    { tool: "switch_backend", sideEffects: "write", confirm: "always", arguments: { name: "a" } },
  ],
  web: [
    { tool: "web_fetch", sideEffects: "read", confirm: "prompt", arguments: { url: "http://a.test" } },
    { tool: "web_post", sideEffects: "network", arguments: { url: "http://a.test", body: "a" } },
    {
      tool: "display_diagram",
      sideEffects: "none",
      confirm: "auto",
      arguments: { source: "a -> b", format: "dot" },
    },
    { tool: "web_search", sideEffects: "read", arguments: { query: "a" } },
  ],
  shell: [
    { tool: "run_command", sideEffects: "execute", confirm: "prompt", arguments: { command: "true" } },
    { tool: "run_tests", sideEffects: "execute", confirm: "prompt", arguments: {} },
  ],
  system: [{ tool: "system_monitor", sideEffects: "read", arguments: {} }],
};
