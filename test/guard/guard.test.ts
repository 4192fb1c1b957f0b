import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { type GuardScene, guardScene, preToolUse } from "./scene.ts";

interface Answer {
  readonly hookSpecificOutput: {
    readonly permissionDecision: string;
    readonly permissionDecisionReason?: string;
    readonly updatedInput?: { readonly command: string; readonly description?: string };
  };
}

async function decide(scene: GuardScene, tool: string, input: object, agent = "claude-code") {
  const { code, stdout, stderr } = await scene.hook(agent, preToolUse(scene.workspace, tool, input));
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout === "" ? undefined : (JSON.parse(stdout) as Answer).hookSpecificOutput;
}

/** Runs a command as the shell of an agent does. */
async function shell(scene: GuardScene, command: string) {
  const child = spawn("/bin/bash", ["-c", command], { env: scene.env, cwd: scene.workspace });
  const [[code], stdout, stderr] = await Promise.all([
    once(child, "close"),
    text(child.stdout),
    text(child.stderr),
  ]);
  return { stdout, stderr, code };
}

async function answer(scene: GuardScene, reason: string, decision: "allow" | "deny"): Promise<void> {
  const [, origin, id] = /(http:\S+)\/console\/#\/waiting\/(\S+)/.exec(reason) ?? [];
  const token = await readFile(join(scene.folder, "approver.token"), "utf8");
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const listed = (await (await fetch(`${origin}/v1/confirmations`, { headers })).json()) as {
    readonly confirmations: readonly {
      requestId: string;
      sessionId: string;
      turnId: string;
      digest: string;
    }[];
  };
  const found = listed.confirmations.find(({ requestId }) => requestId === id);
  if (found === undefined) throw new Error("there is no such confirmation");
  const { sessionId, turnId, digest } = found;
  const path = `/v1/sessions/${encodeURIComponent(sessionId)}/turns/${turnId}/confirmations/${id}`;
  const body = JSON.stringify({ decision, digest });
  expect((await fetch(`${origin}${path}`, { method: "POST", headers, body })).status).toBe(200);
}

describe("A guarded agent", { timeout: 120_000 }, () => {
  test("runs a command confined, once, and its first call starts what decides", async () => {
    const scene = await guardScene(["claude-code"]);
    const token = join(scene.folder, "approver.token");
    const command = `echo "it's" > made; cat '${token}'; echo x > /etc/guarded; exit 3`;
    const decided = await decide(scene, "Bash", { command, description: "tries" });
    expect(decided).toMatchObject({ permissionDecision: "allow", updatedInput: { description: "tries" } });
    const confined = decided?.updatedInput?.command ?? "";
    const ran = await shell(scene, confined);
    expect(ran.code).toBe(3);
    expect(ran.stdout).toBe("");
    // Namespaces do not show the file, Landlock does not open it.
    expect(ran.stderr).toMatch(/No such file or directory|Permission denied/);
    expect(existsSync("/etc/guarded")).toBe(false);
    expect(await readFile(join(scene.workspace, "made"), "utf8")).toBe("it's\n");
    expect(await shell(scene, confined)).toMatchObject({ code: 126 });
    const other = (await decide(scene, "Bash", { command: "echo one" }))?.updatedInput?.command ?? "";
    expect(await shell(scene, other.replace("echo one", "echo two"))).toMatchObject({
      code: 126,
      stdout: "",
    });
  });

  test("starts what decides once, whichever of its calls comes first", async () => {
    const scene = await guardScene(["claude-code"]);
    const calls = Array.from({ length: 4 }, (_, index) =>
      decide(scene, "Write", { file_path: `${index}.txt`, content: "a" }),
    );
    expect(await Promise.all(calls)).toEqual([undefined, undefined, undefined, undefined]);
    const { stdout } = await promisify(execFile)("ps", ["-eo", "args"]);
    const running = stdout
      .split("\n")
      .filter((line) => line.includes(`guard daemon --config ${scene.folder}/`));
    expect(running).toHaveLength(1);
  });

  test("is told where a person answers, and does once what they allowed", async () => {
    const scene = await guardScene(["claude-code"]);
    await scene.daemon();
    const input = { file_path: "/etc/hostname" };
    const asked = await decide(scene, "Read", input);
    expect(asked).toMatchObject({ permissionDecision: "deny" });
    const reason = asked?.permissionDecisionReason ?? "";
    expect((await decide(scene, "Read", input))?.permissionDecisionReason).toBe(reason);
    await answer(scene, reason, "allow");
    expect(await decide(scene, "Read", input)).toBeUndefined();
    const again = (await decide(scene, "Read", input))?.permissionDecisionReason ?? "";
    expect(again).toContain("/console/#/waiting/");
    expect(again).not.toBe(reason);
    await answer(scene, again, "deny");
    expect((await decide(scene, "Read", input))?.permissionDecisionReason).toBe(
      "User denied this operation.",
    );
  });

  test("runs a command without confinement only after a person has allowed it", async () => {
    const scene = await guardScene(["codex"]);
    await scene.daemon();
    const input = { command: "sandgate-unconfined echo here; echo and here" };
    const asked = await decide(scene, "Bash", input, "codex");
    expect(asked).toMatchObject({ permissionDecision: "deny" });
    await answer(scene, asked?.permissionDecisionReason ?? "", "allow");
    const repeated = await Promise.all([1, 2].map(() => decide(scene, "Bash", input, "codex")));
    const reasons = JSON.stringify(repeated);
    expect(
      repeated.filter((each) => each?.permissionDecision === "deny"),
      reasons,
    ).toHaveLength(1);
    expect(
      repeated.find((each) => each?.permissionDecision === "allow"),
      reasons,
    ).toMatchObject({
      updatedInput: { command: "echo here; echo and here" },
    });
  });

  test("is decided by a process that ends at SIGTERM", async () => {
    const scene = await guardScene(["claude-code"]);
    const daemon = await scene.daemon();
    const exited = once(daemon, "exit");
    daemon.kill("SIGTERM");
    expect(await exited).toEqual([0, null]);
  });

  test("records what it does before it does it", async () => {
    const scene = await guardScene(["claude-code"]);
    await scene.daemon();
    await decide(scene, "Write", { file_path: join(scene.workspace, "a.txt"), content: "a" });
    const config = join(scene.folder, "sandgate.yaml");
    const { stdout } = await scene.sandgate("journal", "show", "--config", config);
    expect(stdout).toContain("write_file");
    expect(stdout).toContain("claude-code");
  });

  test("cannot change what rules it", async () => {
    const scene = await guardScene(["claude-code", "opencode"]);
    await scene.daemon();
    await mkdir(join(scene.workspace, ".git"));
    const files = [
      join(scene.home, ".claude/settings.json"),
      join(scene.home, ".claude/settings.local.json"),
      join(scene.home, ".config/opencode/plugin/sandgate-guard.js"),
      join(scene.workspace, ".claude/settings.json"),
      join(scene.workspace, ".CLAUDE/settings.json"),
      join(scene.workspace, "x/../.claude/settings.json"),
      join(scene.workspace, ".git/hooks/pre-commit"),
      join(scene.workspace, ".mcp.json"),
      join(scene.folder, "sandgate.yaml"),
      join(scene.folder, "guard.key"),
    ];
    for (const file_path of files) {
      const decided = await decide(scene, "Write", { file_path, content: "{}" });
      expect([file_path, decided?.permissionDecision, decided?.permissionDecisionReason]).toEqual([
        file_path,
        "deny",
        expect.not.stringContaining("/waiting/"),
      ]);
    }
    const read = await decide(scene, "Read", { file_path: join(scene.folder, "approver.token") });
    expect(read?.permissionDecisionReason).not.toContain("/waiting/");
    const made = "mkdir -p .claude; echo '{\"disableAllHooks\":true}' > .claude/settings.json";
    const confined = (await decide(scene, "Bash", { command: made }))?.updatedInput?.command ?? "";
    await shell(scene, confined);
    expect(existsSync(join(scene.workspace, ".claude/settings.json"))).toBe(false);
  });
});

describe("The settings of an agent", { timeout: 60_000 }, () => {
  test("get the hook beside what is there, and are as before without it", async () => {
    const scene = await guardScene([]);
    const file = join(scene.home, ".claude/settings.json");
    const before = `${JSON.stringify({ model: "m", hooks: { PreToolUse: [{ matcher: "Bash", hooks: [] }], Stop: [] } }, undefined, 2)}\n`;
    await mkdir(join(scene.home, ".claude"));
    await writeFile(file, before);
    for (let times = 0; times < 2; times++)
      expect(await scene.sandgate("guard", "install", "claude-code", "codex")).toMatchObject({ code: 0 });
    const settings = JSON.parse(await readFile(file, "utf8"));
    expect(settings).toMatchObject({ model: "m", hooks: { Stop: [] } });
    expect(settings.hooks.PreToolUse).toHaveLength(2);
    expect(settings.hooks.PreToolUse[0]).toMatchObject({ matcher: "*", hooks: [{ onFailure: "block" }] });
    expect(await readFile(`${file}.sandgate-backup`, "utf8")).toBe(before);
    expect(await scene.sandgate("guard", "status", "claude-code")).toMatchObject({ code: 0 });
    await writeFile(file, JSON.stringify({ ...settings, disableAllHooks: true }));
    const status = await scene.sandgate("guard", "status", "claude-code");
    expect(status).toMatchObject({ code: 1 });
    expect(status.stdout).toContain("switches it off");
    await writeFile(file, JSON.stringify(settings));
    expect(await scene.sandgate("guard", "uninstall", "claude-code", "codex")).toMatchObject({ code: 0 });
    expect(await readFile(file, "utf8")).toBe(before);
    expect(existsSync(join(scene.home, ".codex/hooks.json"))).toBe(false);
    expect(await scene.sandgate("guard", "status", "claude-code")).toMatchObject({ code: 1 });
  });

  test("are not changed if they cannot be read", async () => {
    const scene = await guardScene([]);
    await mkdir(join(scene.home, ".gemini"));
    const file = join(scene.home, ".gemini/settings.json");
    await writeFile(file, "{ // a comment\n}");
    expect(await scene.sandgate("guard", "install", "gemini")).toMatchObject({ code: 2 });
    expect(await readFile(file, "utf8")).toBe("{ // a comment\n}");
  });
});
