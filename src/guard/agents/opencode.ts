import type { JsonObject } from "../../json/value.ts";
import {
  commandIn,
  fetches,
  type GuardedAgent,
  MappingError,
  mapped,
  object,
  type PluginParts,
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
function plugin({ command, quick }: PluginParts): string {
  return `// Written by \`sandgate guard install\`: asks Sandgate about every call of a tool.
import { spawn } from "node:child_process";
import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { lstatSync, readFileSync } from "node:fs";
import { connect } from "node:net";

const [program, ...words] = ${JSON.stringify(command)};
const quick = ${JSON.stringify(quick ?? null)};

// Resolves to undefined if nothing listens. See src/guard/hook.c for the messages.
function askHere(input) {
  const { uid, mode } = lstatSync(quick.folder);
  if (uid !== process.getuid() || (mode & 0o170077) !== 0o040000) throw new Error("the folder is not private");
  const secret = readFileSync(quick.folder + "/hook.secret");
  if (createHash("sha256").update(secret).digest("hex") !== quick.pin) throw new Error("another secret");
  const text = Buffer.from(input);
  const head = Buffer.from("opencode " + randomBytes(16).toString("hex") + " " + text.length + "\\n");
  const digest = createHash("sha256").update(head).update(text).digest();
  return new Promise((resolve, reject) => {
    const chunks = [];
    const connection = connect(quick.folder + "/guard.sock");
    const timer = setTimeout(() => connection.destroy(new Error("no answer in time")), 9000);
    connection.on("connect", () => connection.write(Buffer.concat([head, text])));
    connection.on("data", (chunk) => chunks.push(chunk));
    connection.on("error", (error) => {
      clearTimeout(timer);
      if (error.code === "ENOENT" || error.code === "ECONNREFUSED") resolve(undefined);
      else reject(error);
    });
    connection.on("close", () => {
      clearTimeout(timer);
      const [, mac, bytes] = /^([0-9a-f]{64}) (\\d{1,9})\\n/.exec(Buffer.concat(chunks).toString("latin1")) ?? [];
      if (mac === undefined) return reject(new Error("no answer"));
      const answer = Buffer.concat(chunks).subarray(66 + bytes.length);
      const own = createHmac("sha256", secret).update(digest).update(answer).digest();
      if (answer.length !== Number(bytes) || !timingSafeEqual(own, Buffer.from(mac, "hex")))
        return reject(new Error("another process has answered"));
      resolve(answer.toString());
    });
  });
}

function askCommand(input) {
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
    hook.stdin.end(input);
  });
}

export const SandgateGuard = async ({ directory }) => ({
  "tool.execute.before": async ({ tool, sessionID, callID }, output) => {
    let answer;
    try {
      const input = JSON.stringify({ tool, sessionID, callID, directory, args: output.args });
      answer = JSON.parse((quick === null ? undefined : await askHere(input)) ?? (await askCommand(input)));
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
