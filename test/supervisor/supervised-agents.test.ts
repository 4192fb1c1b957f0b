import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ISOLATIONS } from "../sandboxes/process/availability.ts";
import { SupervisorScene } from "./scene.ts";

const call = (tool: string, args: object): string => `tool_call=${JSON.stringify({ tool, args })}`;

const WAYS = [...(ISOLATIONS.length > 0 ? (["process"] as const) : []), "none" as const] as const;

describe.each(WAYS)("A supervised agent with confinement '%s'", (confinement) => {
  test("gets the result of a tool that it has a capability for", async () => {
    await using scene = await SupervisorScene.open();
    const { end, answers, records } = await scene.play(
      call("Echo", { text: "hello" }),
      { tools: ["Echo"] },
      { confinement, id: "a1" },
    );
    expect(end).toEqual({ code: 0 });
    expect(answers).toEqual([
      {
        op: "tool_response",
        tool_call_id: "call-0",
        ok: true,
        result: { text: "hello" },
        metadata: { durationMs: expect.any(Number) },
      },
    ]);
    expect(Object.keys(answers[0] ?? {})).toEqual(["op", "tool_call_id", "ok", "result", "metadata"]);
    expect(records).toContainEqual(
      expect.objectContaining({
        type: "tool.call.dispatched",
        tool: "Echo",
        tool_call_id: "call-0",
        args: { text: "hello" },
        principal: { id: "a1", kind: "agent" },
      }),
    );
  });

  test("has its calls over descriptor 3, and its standard output for itself", async () => {
    await using scene = await SupervisorScene.open();
    const { end, answers } = await scene.play(
      "echo",
      { tools: ["*"] },
      { confinement, channel: true, env: { SANDGATE_FD: "3" } },
    );
    expect(end.code).toBe(0);
    expect(answers).toMatchObject([{ ok: true, result: { text: "hello" } }]);
  });
});

describe("A call is refused", () => {
  test.each([
    [
      "without a capability for the tool",
      call("Echo", { text: "x" }),
      [],
      "permission_denied",
      "Permission denied: tool 'Echo' is disabled by policy",
    ],
    [
      "for a tool that does not exist",
      call("Nothing", {}),
      ["Echo"],
      "tool_not_found",
      "Tool 'Nothing' not found. Available: [Echo]",
    ],
    [
      "for a path that is not granted",
      call("Read", { path: "/etc/passwd" }),
      ["Read"],
      "fs_denied",
      "Permission denied: reading this path is not among your capabilities",
    ],
    [
      "for a path that is absent",
      call("Read", {}),
      ["Read"],
      "fs_denied",
      "Permission denied: the argument /path is missing: give the path",
    ],
    [
      "for a path that is not a string",
      call("Read", { path: 7 }),
      ["Read"],
      "invalid_args",
      "Invalid arguments: /path must be string",
    ],
    [
      "for arguments that do not match the schema",
      call("Echo", { text: 7 }),
      ["Echo"],
      "invalid_args",
      "Invalid arguments: /text must be string",
    ],
    [
      "before its schema is checked if a path is not granted",
      call("Write", { path: "/etc/x", content: 7 }),
      ["*"],
      "fs_denied",
      "Permission denied: writing this path is not among your capabilities",
    ],
  ] as const)("%s", async (_why, mode, tools, error, message) => {
    await using scene = await SupervisorScene.open();
    const { answers, records } = await scene.play(mode, { tools });
    expect(answers).toEqual([{ op: "tool_response", tool_call_id: "call-0", ok: false, error, message }]);
    expect(Object.keys(answers[0] ?? {})).toEqual(["op", "tool_call_id", "ok", "error", "message"]);
    const { tool, args } = JSON.parse(mode.slice(mode.indexOf("=") + 1)) as { tool: string; args: object };
    expect(records.filter(({ type }) => String(type).startsWith("tool.call"))).toMatchObject([
      { type: "tool.call.denied", slug: error, tool, tool_call_id: "call-0", args },
    ]);
  });

  test("if the supervisor has no registry", async () => {
    await using scene = await SupervisorScene.open({ registry: undefined as never });
    const { answers } = await scene.play("echo", { tools: ["*"] });
    expect(answers).toMatchObject([{ ok: false, error: "tool_not_found" }]);
  });

  test("if a quota is used up, and not before", async () => {
    await using scene = await SupervisorScene.open();
    const calls = [1, 2, 3].map((text) => ({ tool: "Echo", args: { text: String(text) } }));
    const { answers } = await scene.play(`calls=${JSON.stringify(calls)}`, {
      tools: ["Echo"],
      limits: { callsPerTool: { Echo: 2 } },
    });
    expect(answers.map(({ ok }) => ok)).toEqual([true, true, false]);
    expect(answers[2]).toMatchObject({
      error: "permission_denied",
      message: "Permission denied: tool 'Echo' was called 2 times, its limit for this agent",
    });
  });
});

describe("Files", () => {
  test("are read and written in a granted folder, and read where nothing else is granted", async () => {
    await using scene = await SupervisorScene.open();
    const path = join(scene.granted, "notes.txt");
    const calls = [
      { tool: "Write", args: { path, content: "héllo" } },
      { tool: "Read", args: { path } },
    ];
    const written = await scene.play(`calls=${JSON.stringify(calls)}`, {
      tools: ["*"],
      fs: [{ directory: scene.granted, write: true }],
    });
    expect(written.answers.map(({ result }) => result)).toEqual([{ size: 6 }, { content: "héllo", size: 6 }]);
    const read = await scene.play(`calls=${JSON.stringify(calls)}`, {
      tools: ["*"],
      fs: [{ file: path }],
    });
    expect(read.answers).toMatchObject([{ error: "fs_denied" }, { ok: true, result: { size: 6 } }]);
  });

  test("are denied behind a link in a granted folder that leads out, even if the folder has a similar name", async () => {
    await using scene = await SupervisorScene.open();
    symlinkSync("/etc", join(scene.granted, "out"));
    mkdirSync(`${scene.granted}-not`);
    writeFileSync(join(`${scene.granted}-not`, "secret"), "secret");
    const paths = [
      join(scene.granted, "out/passwd"),
      join(scene.granted, "../granted-not/secret"),
      `${scene.granted}-not/secret`,
      `${scene.granted}/../../../../../../etc/passwd`,
      "notes.txt",
      `${scene.granted}/\0`,
    ];
    const calls = paths.map((path) => ({ tool: "Read", args: { path } }));
    const { answers } = await scene.play(`calls=${JSON.stringify(calls)}`, {
      tools: ["*"],
      fs: [{ directory: scene.granted }],
    });
    expect(answers.map(({ error }) => error)).toEqual(paths.map(() => "fs_denied"));
  });
});

describe("A tool", () => {
  test("that throws fails its call, and the agent's next call works", async () => {
    await using scene = await SupervisorScene.open();
    const calls = [
      { tool: "throwing", args: {} },
      { tool: "Echo", args: { text: "next" } },
    ];
    const { answers } = await scene.play(`calls=${JSON.stringify(calls)}`, { tools: ["*"] });
    expect(answers).toMatchObject([
      { ok: false, error: "tool_failed", message: expect.stringMatching(/^Tool failed \(reference \w+\)$/) },
      { ok: true, result: { text: "next" } },
    ]);
  });

  test("knows the agent, and can ask what the kernel allows", async () => {
    await using scene = await SupervisorScene.open();
    const { answers } = await scene.play(
      call("aware", {}),
      { tools: ["aware", "Echo"], net: ["https://example.com"] },
      { id: "a7" },
    );
    expect(answers[0]?.result).toEqual({
      agent: "a7",
      hasPid: true,
      tool: true,
      otherTool: false,
      fs: false,
      net: true,
    });
  });

  test("that needs no capability is called without one", async () => {
    await using scene = await SupervisorScene.open();
    scene.registry.register({ ...scene.registry.get("Echo"), requiresCapability: false }, { replace: true });
    const { answers } = await scene.play("echo", {});
    expect(answers).toMatchObject([{ ok: true }]);
  });
});
