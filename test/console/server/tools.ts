import { setTimeout as delay } from "node:timers/promises";
import { defineTool, type Tool } from "../../../src/engine/tool.ts";
import { fsTools } from "../../../src/toolsets/fs/fs-tools.ts";
import { planTools } from "../../../src/toolsets/toolsets.ts";

const TEXT = { type: "object", properties: { text: { type: "string" } } } as const;

/** Tools of every kind that the console shows. What they return, log and ask comes from their arguments. */
export function consoleTools(): readonly Tool[] {
  return [
    defineTool({
      name: "echo",
      description: "Returns its arguments, and logs them.",
      inputSchema: TEXT,
      sideEffects: "read",
      host: (input, { logger, onOutput }) => {
        logger.info(String(input.text));
        onOutput(String(input.text));
        return input;
      },
    }),
    defineTool({
      name: "outer_tool",
      description: "Calls another tool.",
      inputSchema: TEXT,
      sideEffects: "read",
      quickjs: {
        source: "export default (input, { tools }) => tools.call('inner_tool', input);",
      },
    }),
    defineTool({
      name: "inner_tool",
      description: "Takes a few milliseconds.",
      inputSchema: TEXT,
      sideEffects: "read",
      host: async (input) => {
        await delay(5);
        return input;
      },
    }),
    defineTool({
      name: "send_mail",
      description: "Sends mail.",
      inputSchema: {
        type: "object",
        properties: { to: { type: "string" }, body: { type: "string" } },
        required: ["to"],
      },
      sideEffects: "network",
      host: () => "sent",
    }),
    defineTool({
      name: "asks",
      description: "Asks a person what its arguments say.",
      inputSchema: {
        type: "object",
        properties: { question: { type: "string" }, choices: { type: "array", items: { type: "string" } } },
        required: ["question"],
      },
      sideEffects: "none",
      host: async ({ question, choices }, { ask }) =>
        choices === undefined ? ask({ question }) : ask({ question, choices }),
    }),
    defineTool({
      name: "rename",
      description: "Says which lines it would change.",
      inputSchema: TEXT,
      sideEffects: "write",
      projectChanges: ({ text }) => ["--- notes.txt", "+++ notes.txt", "@@ -1 +1 @@", "-one", `+${text}`],
      host: (input) => input,
    }),
    ...planTools(),
    ...fsTools(),
  ];
}

/** The rules for {@link consoleTools}, as they would be in a file. */
export function rulesFor(workspace: string): string {
  return `rules:
  - name: harmless
    tools: [echo, inner_tool, asks, submit_plan, hold]
    effect: allow
    sandboxes: [host]
    limits: { wallTime: 20s }
  - name: calls-others
    tools: [outer_tool]
    effect: allow
    sandboxes: [quickjs]
    limits: { wallTime: 2s }
    capabilities: { tools: [inner_tool] }
  - name: programs
    tools: [waits]
    effect: allow
    sandboxes: [quickjs]
    capabilities: { tools: [write_note] }
  - name: notes
    tools: [write_note, rename]
    effect: allow
    sandboxes: [host]
  - name: mail-to-team
    tools: [send_mail]
    when: { /to: { glob: "*@team.example" } }
    effect: allow
    sandboxes: [host]
  - name: files
    tools: [read_file, write_file, edit_file, list_directory]
    effect: allow
    sandboxes: [host]
    capabilities: { fs: [{ directory: ${JSON.stringify(workspace)}, write: true }] }
`;
}
