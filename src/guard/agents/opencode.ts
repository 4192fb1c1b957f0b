import type { JsonObject } from "../../json/value.ts";
import {
  commandIn,
  fetches,
  type GuardedAgent,
  MappingError,
  mapped,
  object,
  reads,
  searches,
  steps,
  type ToolMapping,
  text,
  withCommand,
  writes,
} from "../agent.ts";
import { patched } from "./codex.ts";

const TOOLS: Readonly<Record<string, ToolMapping>> = {
  ...steps(["task", "todoread", "todowrite"]),
  bash: commandIn(["workdir"]),
  read: reads("filePath", ["offset", "limit"]),
  write: writes("filePath", ["content"]),
  edit: writes("filePath", ["oldString", "newString", "replaceAll"]),
  apply_patch: { members: ["patchText"], actions: (input) => patched(text(input, "patchText")) },
  glob: searches(["path"], ["pattern"]),
  grep: searches(["path"], ["include"], ["pattern"]),
  list: searches(["path"], [], ["ignore"]),
  webfetch: fetches("url", ["format", "timeout"]),
};

export const opencode: GuardedAgent = {
  name: "opencode",
  title: "opencode",
  hook: { kind: "plugin", path: ".config/opencode/plugin/sandgate-guard.js", source: plugin },
  settings: [".config/opencode", ".opencode"],
  rewrites: true,
  gaps: [
    {
      what: "a plugin that cannot be loaded",
      gap: "opencode goes on without it, with one line in its log or none: look whether a harmless command comes back confined",
    },
    { what: "opencode --pure, OPENCODE_PURE", gap: "run without plugins" },
    { what: "MCP tools", gap: "cannot be told from other tools: all are unknown ones, and asked about" },
    { what: "other plugins", gap: "run in the same process, and can do everything that the agent can" },
  ],
  read: (input) => {
    const cwd = text(input, "directory");
    if (!cwd.startsWith("/")) throw new MappingError("the directory is not absolute");
    const actions = mapped(TOOLS, text(input, "tool"), object(input, "args"), cwd);
    return { sessionId: text(input, "sessionID"), cwd, actions };
  },
  write: (decision, input): JsonObject => {
    if (decision.decision === "allow") return {};
    if (decision.decision === "deny") return { deny: decision.reason };
    return { args: withCommand(object(input, "args"), decision) };
  },
};

/** A plugin of opencode, which runs in its process. Only what is thrown blocks a call, and only fields of `args` can be changed. */
function plugin(command: readonly string[]): string {
  return `// Written by \`sandgate guard install\`: asks Sandgate about every call of a tool.
import { spawn } from "node:child_process";

const [program, ...words] = ${JSON.stringify(command)};

function ask(input) {
  return new Promise((resolve, reject) => {
    const hook = spawn(program, words, { stdio: ["pipe", "pipe", "ignore"], env: {} });
    const chunks = [];
    const timer = setTimeout(() => hook.kill("SIGKILL"), 35000);
    hook.stdout.on("data", (chunk) => chunks.push(chunk));
    hook.stdin.on("error", () => {});
    hook.on("error", reject);
    hook.on("close", (code) => {
      clearTimeout(timer);
      if (code === 0) resolve(Buffer.concat(chunks).toString());
      else reject(new Error("the hook failed"));
    });
    hook.stdin.end(JSON.stringify(input));
  });
}

export const SandgateGuard = async ({ directory }) => ({
  "tool.execute.before": async ({ tool, sessionID, callID }, output) => {
    let answer;
    try {
      answer = JSON.parse(await ask({ tool, sessionID, callID, directory, args: output.args }));
      if (typeof answer !== "object" || answer === null) throw new Error("no object");
    } catch {
      throw new Error("Sandgate could not decide on this call, so it was blocked. Run: sandgate guard status");
    }
    if (answer.deny !== undefined) throw new Error(String(answer.deny));
    if (answer.args !== undefined) {
      for (const name of Object.keys(output.args)) if (!Object.hasOwn(answer.args, name)) delete output.args[name];
      for (const [name, value] of Object.entries(answer.args)) output.args[name] = value;
    }
  },
});
`;
}
