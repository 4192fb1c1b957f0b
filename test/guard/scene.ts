import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { onTestFinished } from "vitest";

const ROOT = resolve(import.meta.dirname, "../..");
export const MAIN: string = join(ROOT, "src/cli/main.ts");
const COMPILED = join(ROOT, "test/compiled.ts");

/** How an agent that was started ended. */
interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A home directory with agents that are guarded, and a workspace. */
export interface GuardScene {
  readonly home: string;
  readonly workspace: string;
  /** The folder of the config. */
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  sandgate(...argv: readonly string[]): Promise<Ended>;
  /** Starts the hook as an agent does: with a shell, and the input on standard input. */
  hook(agent: string, input: object | string | Buffer): Promise<Ended>;
  /** Starts what decides, and returns its process once it listens. */
  daemon(): Promise<ChildProcess>;
}

/** The settings file of each agent that starts a command. */
const SETTINGS: Readonly<Record<string, string>> = {
  "claude-code": ".claude/settings.json",
  codex: ".codex/hooks.json",
  gemini: ".gemini/settings.json",
};

/**
 * @param edit Changes the config that is installed.
 * @param isInNode Whether the hook is the one that runs in Node.js, also where there is a quick one.
 */
export async function guardScene(
  agents: readonly string[],
  edit: (config: string) => string = (config) => config,
  isInNode = false,
): Promise<GuardScene> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "guard-")));
  const [home, workspace] = [join(root, "home"), join(root, "work")];
  const folder = join(home, ".config/sandgate/guard");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await mkdir(workspace);
  // As on a file system from which no program can be started, the quick hook cannot be used.
  if (isInNode) await mkdir(join(folder, "hook"));
  // What a test has installed for this user must not be seen, nor anything started by it be left.
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env: NodeJS.ProcessEnv = { HOME: home, PATH, LANG: "C.UTF-8", NODE_COMPILE_CACHE };
  const template = await readFile(join(ROOT, "examples/guard/sandgate.yaml"), "utf8");
  const config = template
    .replace("listen: 127.0.0.1:7427", "listen: 127.0.0.1:0")
    .replace("workspaces: []", `workspaces: [${JSON.stringify(workspace)}]`);
  await writeFile(join(folder, "sandgate.yaml"), edit(config), { mode: 0o600 });
  const scene: GuardScene = {
    home,
    workspace,
    folder,
    env,
    sandgate: (...argv) => ended(spawn(process.execPath, [MAIN, ...argv], { env, cwd: workspace })),
    hook: async (agent, input) => {
      const settings = JSON.parse(await readFile(join(home, SETTINGS[agent] ?? ""), "utf8")) as Settings;
      const command = Object.values(settings.hooks)[0]?.[0]?.hooks[0]?.command ?? "exit 99";
      const shell = spawn("/bin/sh", ["-c", command], { env, cwd: workspace });
      shell.stdin.on("error", () => {});
      shell.stdin.end(typeof input === "string" || Buffer.isBuffer(input) ? input : JSON.stringify(input));
      return ended(shell);
    },
    daemon: async () => {
      const child = spawn(
        process.execPath,
        ["--import", COMPILED, MAIN, "guard", "daemon", "--config", join(folder, "sandgate.yaml")],
        { env, cwd: "/", stdio: ["ignore", "pipe", "pipe"] },
      );
      onTestFinished(() => end(child));
      const [line] = (await Promise.race([
        once(child.stdout, "data"),
        text(child.stderr).then((error) => Promise.reject(new Error(error))),
      ])) as [Buffer];
      if (!String(line).startsWith("listening on ")) throw new Error(String(line));
      // The socket is there a moment after the server.
      for (let tries = 0; tries < 200; tries++) {
        const { stdout } = await scene.sandgate("guard", "status");
        if (stdout.includes("process that decides: running")) return child;
      }
      throw new Error("it does not answer");
    },
  };
  onTestFinished(async () => {
    await endStarted(folder);
    await rm(root, { recursive: true, force: true });
  });
  if (agents.length > 0) {
    const { code, stderr } = await scene.sandgate("guard", "install", ...agents);
    if (code !== 0) throw new Error(stderr);
  }
  return scene;
}

interface Settings {
  readonly hooks: Readonly<
    Record<string, readonly { readonly hooks: readonly { readonly command: string }[] }[]>
  >;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}

/** Ends what a hook has started for this config, which is known by its command line. */
async function endStarted(folder: string): Promise<void> {
  const { stdout } = await promisify(execFile)("ps", ["-eo", "pid,args"], { maxBuffer: 16 * 1_024 * 1_024 });
  for (const line of stdout.split("\n")) {
    if (line.includes(`guard daemon --config ${folder}/`)) process.kill(Number.parseInt(line, 10), "SIGKILL");
  }
}

async function ended(child: ChildProcess): Promise<Ended> {
  const [[code], stdout, stderr] = await Promise.all([
    once(child, "close") as Promise<[number | null]>,
    text(child.stdout as NodeJS.ReadableStream),
    text(child.stderr as NodeJS.ReadableStream),
  ]);
  return { code, stdout, stderr };
}

/** The input of Claude Code or Codex, as they were recorded. */
export function preToolUse(cwd: string, tool: string, input: object): object {
  return {
    session_id: "6c2b",
    transcript_path: "/tmp/transcript.jsonl",
    cwd,
    hook_event_name: "PreToolUse",
    permission_mode: "bypassPermissions",
    tool_name: tool,
    tool_input: input,
    tool_use_id: "toolu_1",
  };
}
