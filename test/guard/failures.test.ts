import { generateKeyPairSync } from "node:crypto";
import { chmod, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { authenticated, signAnswer } from "../../src/guard/wire.ts";
import { type GuardScene, guardScene, preToolUse } from "./scene.ts";

/** The one in C is on Linux and x64 only: elsewhere, all of them are in Node.js. */
const HOOKS = [
  ["claude-code", "in C"],
  ["codex", "in C"],
  ["gemini", "in C"],
  ["claude-code", "in Node.js"],
] as const;

/** What all agents with commands as hooks take for a denial: exit code 2, a text, and nothing on standard output. */
const BLOCKED = { code: 2, stdout: "", stderr: expect.stringContaining("blocked") };

/** Listens in place of what decides. */
async function replaceBy(
  scene: GuardScene,
  respond: (request: string, socket: Socket) => void,
): Promise<void> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", (chunk) => respond(String(chunk), socket));
  });
  const place = join(scene.folder, "guard.sock");
  await rm(place, { force: true });
  await new Promise<void>((resolve) => server.listen(place, resolve));
  onTestFinished(() => void server.close());
}

describe.each(HOOKS)("The hook of %s, %s, blocks a call", { timeout: 120_000 }, (agent, where) => {
  const scene = (edit?: (config: string) => string): Promise<GuardScene> =>
    guardScene([agent], edit, where === "in Node.js");
  const call = ({ workspace }: GuardScene): object => preToolUse(workspace, "Read", { file_path: "a.txt" });

  test("if what decides cannot be started", async () => {
    const guarded = await scene((config) => `${config}\nno: config\n`);
    expect(await guarded.hook(agent, call(guarded))).toEqual(BLOCKED);
  });

  test("if it does not answer", async () => {
    const guarded = await scene();
    await replaceBy(guarded, () => {});
    expect(await guarded.hook(agent, call(guarded))).toEqual(BLOCKED);
  });

  test("if another process answers", async () => {
    const guarded = await scene();
    const { privateKey } = generateKeyPairSync("ed25519");
    await replaceBy(guarded, (request, socket) => {
      const line = request.slice(0, request.indexOf("\n"));
      const signed = { answer: "{}", signature: signAnswer(line, "{}", privateKey) };
      socket.end(
        line.startsWith("{")
          ? `${JSON.stringify(signed)}\n`
          : authenticated(Buffer.from(request), "{}", Buffer.alloc(32)),
      );
    });
    expect(await guarded.hook(agent, call(guarded))).toEqual(BLOCKED);
  });

  test("if the answer is no answer", async () => {
    const guarded = await scene();
    const mac = "0".repeat(64);
    const answers = [
      `${mac} 2\n{}`,
      `${mac} 99999999999\n{}`,
      `${mac} 2\n`,
      `${mac} -1\n{}`,
      `${mac}`,
      `${mac} \n`,
      "",
      "\n",
      "{}\n",
      "allow\n",
      '{"answer":"{}"}\n',
      "\0".repeat(100_000),
    ];
    let next = 0;
    await replaceBy(guarded, (_, socket) => socket.end(answers[next++] ?? ""));
    for (const answer of answers)
      expect([answer.length, await guarded.hook(agent, call(guarded))]).toEqual([answer.length, BLOCKED]);
  });

  test("if the folder of the socket is open to others", async () => {
    const guarded = await scene();
    await guarded.daemon();
    expect(await guarded.hook(agent, call(guarded))).not.toEqual(BLOCKED);
    await chmod(guarded.folder, 0o755);
    expect(await guarded.hook(agent, call(guarded))).toEqual(BLOCKED);
    await chmod(guarded.folder, 0o700);
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

  test.each([false, true])("reads an input of every length (in Node.js: %s)", async (isInNode) => {
    const scene = await guardScene(["claude-code"], undefined, isInNode);
    await scene.daemon();
    for (const length of [0, 1, 4_000, 65_536, 2_000_000]) {
      const input = { file_path: "a.txt", content: "ä".repeat(length) };
      const { code, stdout, stderr } = await scene.hook(
        "claude-code",
        preToolUse(scene.workspace, "Write", input),
      );
      expect([length, code, stdout, stderr]).toEqual([length, 0, "", ""]);
    }
    const tooLong = { file_path: "a.txt", content: "a".repeat(12 * 1_024 * 1_024) };
    expect(await scene.hook("claude-code", preToolUse(scene.workspace, "Write", tooLong))).toEqual(BLOCKED);
    for (const input of [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), "\n", "{\n}\n"]) {
      const { code, stdout } = await scene.hook("claude-code", input);
      expect(code === 2 || stdout.includes('"deny"')).toBe(true);
    }
  });

  test("is asked by a program without Node.js where there is one, which status compares", async () => {
    const scene = await guardScene(["claude-code"]);
    await scene.daemon();
    const settings = join(scene.home, ".claude/settings.json");
    const isQuick = process.platform === "linux" && process.arch === "x64";
    expect((await readFile(settings, "utf8")).includes(`${scene.folder}/hook claude-code`)).toBe(isQuick);
    if (!isQuick) return;
    await writeFile(join(scene.folder, "hook.secret"), Buffer.alloc(32));
    const call = preToolUse(scene.workspace, "Read", { file_path: "a.txt" });
    expect(await scene.hook("claude-code", call)).toEqual(BLOCKED);
    expect(await scene.sandgate("guard", "status", "claude-code")).toMatchObject({ code: 1 });
    await writeFile(join(scene.folder, "hook"), "#!/bin/sh\necho '{}'\n");
    const { code, stdout } = await scene.sandgate("guard", "status", "claude-code");
    expect([code, stdout]).toEqual([1, expect.stringContaining("install it again")]);
  });

  test("takes the place of a socket that a process left behind", async () => {
    const scene = await guardScene(["claude-code"]);
    await writeFile(join(scene.folder, "guard.sock"), "");
    await scene.daemon();
    const { stdout } = await scene.sandgate("guard", "status");
    expect(stdout).toContain("process that decides: running");
  });
});
