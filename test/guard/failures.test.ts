import { generateKeyPairSync } from "node:crypto";
import { chmod, rm, writeFile } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { signAnswer } from "../../src/guard/wire.ts";
import { type GuardScene, guardScene, preToolUse } from "./scene.ts";

const AGENTS = ["claude-code", "codex", "gemini"];

/** What all agents with commands as hooks take for a denial: exit code 2, a text, and nothing on standard output. */
const BLOCKED = { code: 2, stdout: "", stderr: expect.stringContaining("blocked") };

/** Listens in place of what decides. */
async function replaceBy(scene: GuardScene, respond: (line: string, socket: Socket) => void): Promise<void> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", (chunk) => respond(String(chunk).trim(), socket));
  });
  const place = join(scene.folder, "guard.sock");
  await rm(place, { force: true });
  await new Promise<void>((resolve) => server.listen(place, resolve));
  onTestFinished(() => void server.close());
}

describe.each(AGENTS)("The hook of %s blocks a call", { timeout: 120_000 }, (agent) => {
  const call = (scene: GuardScene) => preToolUse(scene.workspace, "Read", { file_path: "a.txt" });

  test("if what decides cannot be started", async () => {
    const scene = await guardScene([agent], (config) => `${config}\nno: config\n`);
    expect(await scene.hook(agent, call(scene))).toEqual(BLOCKED);
  });

  test("if it does not answer", async () => {
    const scene = await guardScene([agent]);
    await replaceBy(scene, () => {});
    expect(await scene.hook(agent, call(scene))).toEqual(BLOCKED);
  });

  test("if another process answers", async () => {
    const scene = await guardScene([agent]);
    const { privateKey } = generateKeyPairSync("ed25519");
    await replaceBy(scene, (line, socket) =>
      socket.end(`${JSON.stringify({ answer: "{}", signature: signAnswer(line, "{}", privateKey) })}\n`),
    );
    expect(await scene.hook(agent, call(scene))).toEqual(BLOCKED);
  });

  test("if the answer is no answer", async () => {
    const scene = await guardScene([agent]);
    const answers = ["", "\n", "{}\n", "allow\n", '{"answer":"{}"}\n', "\0".repeat(100_000)];
    let next = 0;
    await replaceBy(scene, (_, socket) => socket.end(answers[next++] ?? ""));
    for (const answer of answers)
      expect([answer.length, await scene.hook(agent, call(scene))]).toEqual([answer.length, BLOCKED]);
  });

  test("if the folder of the socket is open to others", async () => {
    const scene = await guardScene([agent]);
    await scene.daemon();
    expect(await scene.hook(agent, call(scene))).not.toEqual(BLOCKED);
    await chmod(scene.folder, 0o755);
    expect(await scene.hook(agent, call(scene))).toEqual(BLOCKED);
    await chmod(scene.folder, 0o700);
  });
});

describe("What decides", { timeout: 120_000 }, () => {
  test("denies an input that is not one of the agent", async () => {
    const scene = await guardScene(["claude-code"]);
    await scene.daemon();
    const start = '{"session_id":"a","cwd":"/","tool_name":"Bash"';
    const inputs = {
      text: "no JSON",
      nothing: "",
      "a repeated member": `${start},"tool_name":"TodoWrite","tool_input":{}}`,
      "another form": '{"tool":"Bash"}',
      "a command that is no text": `${start},"tool_input":{"command":["rm"]}}`,
      "a NUL character": `${start},"tool_input":{"command":"a\\u0000b"}}`,
      "a lone surrogate": `${start},"tool_input":{"command":"\\ud800"}}`,
      "a relative directory": '{"session_id":"a","cwd":"x","tool_name":"Bash","tool_input":{"command":"ls"}}',
      "no command": `${start},"tool_input":{}}`,
    };
    for (const [what, input] of Object.entries(inputs)) {
      const { code, stdout } = await scene.hook("claude-code", input);
      expect([what, code, stdout]).toEqual([what, 0, expect.stringContaining('"permissionDecision":"deny"')]);
    }
    const broken = await scene.hook("claude-code", "\ufffd".repeat(3_000_000));
    expect(broken.code === 2 || broken.stdout.includes('"deny"')).toBe(true);
  });

  test("takes the place of a socket that a process left behind", async () => {
    const scene = await guardScene(["claude-code"]);
    await writeFile(join(scene.folder, "guard.sock"), "");
    await scene.daemon();
    const { stdout } = await scene.sandgate("guard", "status");
    expect(stdout).toContain("process that decides: running");
  });
});
