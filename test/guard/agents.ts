/** An agent's tool and its input. */
export type ToolInput = readonly [tool: string, input: object];

/** How an agent says the same as the others. `undefined` if it has no such tool. */
export interface AgentInputs {
  call(input: ToolInput, cwd: string): object;
  command(command: string): ToolInput;
  read(path: string): ToolInput | undefined;
  write(path: string): ToolInput;
  edit(path: string): ToolInput;
  search(path: string, pattern: string): ToolInput | undefined;
  fetch(url: string): ToolInput | undefined;
  mcp(): ToolInput | undefined;
  step(): ToolInput;
}

const hooked =
  (more: object = {}) =>
  ([tool_name, tool_input]: ToolInput, cwd: string): object => ({
    session_id: "6c2b",
    transcript_path: "/tmp/transcript.jsonl",
    cwd,
    hook_event_name: "PreToolUse",
    tool_name,
    tool_input,
    ...more,
  });

const patch = (marker: string, path: string, text: string): ToolInput => [
  "apply_patch",
  { command: `*** Begin Patch\n*** ${marker} File: ${path}\n${text}\n*** End Patch` },
];

/** What each agent sends, as it was recorded, by the agent's name. */
export const INPUTS: Readonly<Record<string, AgentInputs>> = {
  "claude-code": {
    call: hooked({ permission_mode: "bypassPermissions", tool_use_id: "toolu_1" }),
    command: (command) => ["Bash", { command, description: "does it" }],
    read: (path) => ["Read", { file_path: path }],
    write: (path) => ["Write", { file_path: path, content: "text" }],
    edit: (path) => ["Edit", { file_path: path, old_string: "a", new_string: "b", replace_all: false }],
    search: (path, pattern) => ["Glob", { path, pattern }],
    fetch: (url) => ["WebFetch", { url, prompt: "sum it up" }],
    mcp: () => ["mcp__files__remove", { name: "a" }],
    step: () => ["TodoWrite", { todos: [] }],
  },
  codex: {
    call: hooked({ turn_id: "1", model: "gpt-5.5", permission_mode: "bypassPermissions", tool_use_id: "c" }),
    command: (command) => ["Bash", { command }],
    read: (path) => ["view_image", { path }],
    write: (path) => patch("Add", path, "+text"),
    edit: (path) => patch("Update", path, "@@\n-a\n+b"),
    search: () => undefined,
    fetch: () => undefined,
    mcp: () => ["mcp__files__remove", { name: "a" }],
    step: () => ["update_plan", { plan: [] }],
  },
  gemini: {
    call: (input, cwd) => {
      const more = input[0].startsWith("mcp_")
        ? { mcp_context: { server_name: "files", tool_name: "remove", command: "x", args: [] } }
        : {};
      return hooked({ hook_event_name: "BeforeTool", timestamp: "2026-11-28T12:00:00Z", ...more })(
        input,
        cwd,
      );
    },
    command: (command) => ["run_shell_command", { command, description: "does it" }],
    read: (path) => ["read_file", { file_path: path }],
    write: (path) => ["write_file", { file_path: path, content: "text" }],
    edit: (path) => ["replace", { file_path: path, old_string: "a", new_string: "b", instruction: "c" }],
    search: (path, pattern) => ["glob", { dir_path: path, pattern }],
    fetch: (url) => ["web_fetch", { prompt: `Sum up ${url} please` }],
    mcp: () => ["mcp_files_remove", { name: "a" }],
    step: () => ["write_todos", { todos: [] }],
  },
  opencode: {
    call: ([tool, args], directory) => ({ tool, sessionID: "ses_1", callID: "call_1", directory, args }),
    command: (command) => ["bash", { command, description: "does it" }],
    read: (path) => ["read", { filePath: path }],
    write: (path) => ["write", { filePath: path, content: "text" }],
    edit: (path) => ["edit", { filePath: path, oldString: "a", newString: "b" }],
    search: (path, pattern) => ["glob", { path, pattern }],
    fetch: (url) => ["webfetch", { url, format: "markdown" }],
    mcp: () => undefined,
    step: () => ["todowrite", { todos: [] }],
  },
};
