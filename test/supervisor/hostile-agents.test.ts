import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { AGENTS, SupervisorScene } from "./scene.ts";

const EVERYTHING = { tools: ["*"] };

/** Has an agent write lines of any bytes, and read so many answers. */
function raw(lines: readonly (string | Buffer)[], count: number): string {
  return `raw=${JSON.stringify({ lines: lines.map((line) => Buffer.from(line).toString("base64")), count })}`;
}

const line = (id: unknown, more: object = { tool: "Echo", args: { text: "x" } }): string =>
  `${JSON.stringify({ op: "tool_call", tool_call_id: id, ...more })}\n`;

describe("A line that is no good call", () => {
  test.each([
    [
      "bytes that are no UTF-8",
      Buffer.concat([
        Buffer.from('{"op":"tool_call","tool_call_id":"bad","tool":"Echo","args":{"text":"'),
        Buffer.from([0xff]),
        Buffer.from('"}}\n'),
      ]),
    ],
    [
      "a member that comes twice",
      '{"op":"tool_call","tool_call_id":"bad","tool":"Echo","tool":"Write","args":{}}\n',
    ],
    ["no args", line("bad", { tool: "Echo" })],
    ["args that are a list", line("bad", { tool: "Echo", args: [] })],
    ["args that are JSON text", line("bad", { tool: "Echo", args: '{"text":"x"}' })],
    ["a tool that is no text", line("bad", { tool: 1, args: {} })],
    ["no tool", line("bad", { args: {} })],
    [
      "a number that no double holds",
      '{"op":"tool_call","tool_call_id":"bad","tool":"Echo","args":{"text":12345678901234567890}}\n',
    ],
    ["a tool name that cannot be one", line("bad", { tool: "", args: {} }).replace('""', '"a\\u0000b"')],
  ])("with %s is answered once, and nothing runs", async (what, bytes) => {
    await using scene = await SupervisorScene.open();
    const { answers, records } = await scene.play(raw([bytes, line("good")], 2), EVERYTHING);
    const of = (id: string) => answers.filter(({ tool_call_id }) => tool_call_id === id);
    expect(of("bad")).toMatchObject([
      { ok: false, error: what.startsWith("a tool name") ? "tool_not_found" : "invalid_args" },
    ]);
    expect(of("good")).toMatchObject([{ ok: true }]);
    expect(records.filter(({ type }) => type === "tool.call.dispatched")).toHaveLength(1);
  });

  test.each([
    ["an empty id", line("")],
    ["an id of 257 characters", line("i".repeat(257))],
    ["an id of 257 UTF-16 code units in 256 characters", line(`😀${"i".repeat(255)}`)],
    ["an id that is a number", line(7)],
    ["no id", '{"op":"tool_call","tool":"Echo","args":{"text":"x"}}\n'],
    ["another op", '{"op":"tool_cancel","tool_call_id":"x"}\n'],
    ["no JSON", "just words\n"],
    ["no UTF-8 and no JSON", Buffer.from([0xff, 0xfe, 0x0a])],
    ["a list", '[{"op":"tool_call"}]\n'],
    ["nothing", "\n"],
    ["too deep a nesting", `${"[".repeat(50_000)}\n`],
  ])("with %s goes to the log, and nothing runs", async (_what, bytes) => {
    await using scene = await SupervisorScene.open();
    const { answers, log, records } = await scene.play(raw([bytes, line("good")], 1), EVERYTHING);
    expect(answers).toMatchObject([{ tool_call_id: "good", ok: true }]);
    // The line, and the answer, which the agent prints.
    expect(log).toHaveLength(2);
    expect(records.filter(({ type }) => type === "tool.call.dispatched")).toHaveLength(1);
  });
});

test("An id of 256 UTF-16 code units is echoed as it is", async () => {
  await using scene = await SupervisorScene.open();
  const id = `"\\ \u2028é😀${"i".repeat(249)}`;
  expect(id).toHaveLength(256);
  const { answers } = await scene.play(raw([line(id)], 1), EVERYTHING);
  expect(answers).toMatchObject([{ tool_call_id: id, ok: true }]);
});

test("An id that is outstanding is refused, and can be used again after its answer", async () => {
  await using scene = await SupervisorScene.open();
  const twice = raw([line("a", { tool: "wait", args: {} }), line("a"), line("b")], 2);
  const { answers } = await scene.play(twice, EVERYTHING);
  const byId = answers.map(({ tool_call_id: id, error }) => [id, error]).sort();
  expect(byId).toEqual([
    ["a", "invalid_args"],
    ["b", undefined],
  ]);
  const calls = [1, 2].map((text) => ({ tool_call_id: "same", tool: "Echo", args: { text: `${text}` } }));
  const again = await scene.play(`calls=${JSON.stringify(calls)}`, EVERYTHING);
  expect(again.answers.map(({ ok }) => ok)).toEqual([true, true]);
});

test("A call without the end of its line does not run", async () => {
  await using scene = await SupervisorScene.open();
  const { end, answers, records, log } = await scene.play("half-line", EVERYTHING);
  expect(end).toEqual({ code: 0 });
  expect(answers).toEqual([]);
  expect(log.map(({ text }) => text)).toEqual([expect.stringContaining('"half"')]);
  expect(records.filter(({ type }) => String(type).startsWith("tool."))).toEqual([]);
});

test("A line of more than 2 MiB ends the agent", async () => {
  await using scene = await SupervisorScene.open();
  const { end } = await scene.play("long-line", EVERYTHING);
  expect(end).toEqual({ code: 137, reason: "it wrote a line of more than 2 MiB" });
});

test("An agent that floods without reading is ended", async () => {
  await using scene = await SupervisorScene.open();
  const { end } = await scene.play("flood", EVERYTHING);
  expect(end.reason).toBe("it left more than 8 MiB of answers unread");
});

test("An agent that dies has its calls cancelled, and the journal says that they began", async () => {
  await using scene = await SupervisorScene.open();
  const { end, answers, records } = await scene.play("crash", EVERYTHING);
  expect(end.code).toBe(137);
  expect(answers).toEqual([]);
  expect(records.filter(({ tool }) => tool === "wait")).toMatchObject([
    { type: "tool.call.dispatched", tool_call_id: "call-0" },
    { type: "tool.call.ended", code: "cancelled" },
  ]);
});

test("An agent that exits while too much is outstanding is seen to end, and its calls are cancelled", async () => {
  await using scene = await SupervisorScene.open();
  const { end, records } = await scene.play("leave=3600", EVERYTHING);
  expect(end).toEqual({ code: 7 });
  const ends = records.filter(({ type }) => type === "tool.call.ended");
  expect(ends.length).toBeGreaterThanOrEqual(1_024);
  expect(ends.every(({ code }) => code === "cancelled")).toBe(true);
});

test("1,000 outstanding calls have 1,000 answers", async () => {
  await using scene = await SupervisorScene.open();
  const { log } = await scene.play("many=1000", EVERYTHING);
  expect(log.map(({ text }) => text)).toContain("answers 1000 different 1000");
});

test("What an agent prints is passed on up to 1,000 lines", async () => {
  await using scene = await SupervisorScene.open();
  const { log } = await scene.play(raw(["words\n".repeat(5_000), line("good")], 1), EVERYTHING);
  expect(log.filter(({ source }) => source !== "supervisor")).toHaveLength(1_000);
  expect(log.filter(({ source }) => source === "supervisor")).toHaveLength(1);
});

test("An agent that is stopped ends, and its calls with it", async () => {
  await using scene = await SupervisorScene.open();
  const agent = await scene.start("loop", { capabilities: EVERYTHING, id: "looping" });
  await expect.poll(() => scene.log.some(({ text }) => text === "looping"), { timeout: 20_000 }).toBe(true);
  await expect(scene.start("loop", { id: "looping" })).rejects.toThrow("is running");
  const end = await agent.stop(0);
  expect(end).toEqual({ code: 137, reason: "it was stopped" });
  expect(await agent.wait()).toBe(end);
});

test("Grants and their ends are recorded, and hold for calls that begin later", async () => {
  await using scene = await SupervisorScene.open();
  const agent = await scene.start("loop", { capabilities: EVERYTHING, id: "granted" });
  const denied = async () => (await scene.records()).some(({ type }) => type === "tool.call.denied");
  await expect
    .poll(async () => (await scene.records()).some(({ type }) => type === "tool.call.ended"), {
      timeout: 20_000,
    })
    .toBe(true);
  expect(await denied()).toBe(false);
  scene.kernel.revoke("granted", { tools: ["*"] });
  await expect.poll(denied, { timeout: 20_000 }).toBe(true);
  await agent.stop(0);
  const changes = (await scene.records()).filter(({ type }) => String(type).startsWith("agent."));
  expect(changes).toMatchObject([
    { type: "agent.granted", agent: "granted", capabilities: { tools: ["*"] } },
    { type: "agent.revoked", agent: "granted", capabilities: { tools: ["*"] } },
    { type: "agent.revoked", agent: "granted", capabilities: { tools: [] } },
  ]);
});

const hasPython = existsSync("/usr/bin/python3");
if (!hasPython) console.warn("The test of an agent in Python is skipped: there is no /usr/bin/python3");

test.skipIf(!hasPython)("An agent in Python makes its calls in the same way", async () => {
  await using scene = await SupervisorScene.open();
  const { end, log } = await scene.play("", EVERYTHING, {
    command: "/usr/bin/python3",
    args: [join(AGENTS, "agent.py")],
  });
  expect(log.map(({ text }) => text)).toEqual(["python: from Python fs_denied"]);
  expect(end).toEqual({ code: 5 });
});

test("100 agents at once all have their answers", { timeout: 120_000 }, async () => {
  await using scene = await SupervisorScene.open();
  const agents = await Promise.all(
    Array.from({ length: 100 }, () =>
      scene.play("", EVERYTHING, {
        command: "/bin/sh",
        args: ["-c", `echo '${line("one").trim()}'; read -r answer; echo "$answer"`],
      }),
    ),
  );
  expect(agents.map(({ answers }) => answers.map(({ ok }) => ok))).toEqual(agents.map(() => [true]));
});

test("An agent beyond the most at once is refused", async () => {
  await using scene = await SupervisorScene.open({ maxAgents: 0 });
  await expect(scene.start("echo")).rejects.toThrow("0 agents are running, the most at once");
});

describe("An agent that can exchange nothing any more, and stays,", () => {
  test.each([
    ["because it closed its socket", "close-and-stay", { channel: true, env: { SANDGATE_FD: "3" } }],
    [
      "because it closed its socket after its last call",
      "call-close-and-stay",
      { channel: true, env: { SANDGATE_FD: "3" } },
    ],
    ["because it closed its standard streams", "close-and-stay", {}],
    ["because it closed its standard streams after its last call", "call-close-and-stay", {}],
  ])("%s, is ended", async (_, mode, options) => {
    await using scene = await SupervisorScene.open();
    const { end, log } = await scene.play(mode, EVERYTHING, options);
    const reason = "it closed its output, and had not exited 5 s later";
    expect(end).toEqual({ code: 137, reason });
    expect(log.at(-1)).toMatchObject({ source: "supervisor", text: `the agent ended: ${reason}` });
  });
});
