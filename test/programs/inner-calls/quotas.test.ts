import { expect, test } from "vitest";
import { tool } from "../../sessions/harness.ts";
import { programCall, programSessions } from "./sessions.ts";

const FIVE = `
  const results = [];
  for (let i = 0; i < 5; i++) results.push(await tools.note({}).catch(({ code, message }) => message));
  return results;`;

test("the calls of a program count in the quota of their tool, beside those of the model", async () => {
  const { sessions } = await programSessions([tool("note", "none")], {
    limits: { callsPerTool: { note: 3 } },
  });
  const session = await sessions.open({ principal: { id: "ann", kind: "user" } });
  expect((await session.turn().dispatch({ id: "d", name: "note", arguments: {} }))?.success).toBe(true);
  const execution = await session.turn().dispatch(programCall(FIVE));
  const used = "Permission denied: tool 'note' was called 3 times, its limit in this session";
  expect(execution?.output).toEqual(["note ran", "note ran", used, used, used]);
  const direct = await session.turn().dispatch({ id: "e", name: "note", arguments: {} });
  expect(direct?.error?.message).toBe(used);
});

test("the calls of a program count in the quota of all calls of its session", async () => {
  const { sessions } = await programSessions([tool("note", "none")], { limits: { calls: 4 } });
  const session = await sessions.open({ principal: { id: "ann", kind: "user" } });
  const execution = await session.turn().dispatch(programCall(FIVE));
  // The program is the first call.
  expect(execution?.output).toEqual([
    "note ran",
    "note ran",
    "note ran",
    expect.stringMatching(/^Permission denied: .*4/),
    expect.stringMatching(/^Permission denied: .*4/),
  ]);
});
