import { describe, expect, test } from "vitest";
import { tool } from "../../sessions/harness.ts";
import { programCall, programSessions } from "./sessions.ts";

const ALL = `
  const tried = (name) => tools[name]({}).catch(({ code, message }) => [code, message]);
  return [await tried("look"), await tried("change"), await tried("denied_change")];`;
const tools = [tool("look", "read"), tool("change", "write"), tool("denied_change", "write")];
const DENIED = ["permission_denied", "Permission denied: tool 'denied_change' is disabled by policy"];

describe("A session decides on each call that a program makes", () => {
  test("by its policy, whatever the program itself was allowed", async () => {
    const { sessions } = await programSessions(tools, { confirmations: { default: { write: "auto" } } });
    const session = await sessions.open({ principal: { id: "ann", kind: "user" } });
    const execution = await session.turn().dispatch(programCall(ALL));
    expect(execution?.output).toEqual(["look ran", "change ran", DENIED]);
  });

  test("by the level of its tool", async () => {
    const { sessions } = await programSessions(tools, {
      confirmations: { default: { write: "auto" }, tools: { look: "deny" } },
    });
    const session = await sessions.open({ principal: { id: "ann", kind: "user" } });
    const execution = await session.turn().dispatch(programCall(ALL));
    expect(execution?.output).toEqual([["permission_denied", expect.any(String)], "change ran", DENIED]);
  });

  test("by a mode of its own, whose levels hold for calls of programs, too", async () => {
    const { sessions } = await programSessions(tools, {
      confirmations: {
        modes: { careful: { base: "autonomous", tools: { change: "deny" } } },
      },
    });
    const session = await sessions.open({ mode: "careful", principal: { id: "ann", kind: "user" } });
    const execution = await session.turn().dispatch(programCall(ALL));
    expect(execution?.output).toEqual(["look ran", ["permission_denied", expect.any(String)], DENIED]);
  });

  test("in the mode plan only reading, and a program that may write does not even begin", async () => {
    const { sessions } = await programSessions(tools);
    const session = await sessions.open({ mode: "plan", principal: { id: "ann", kind: "user" } });
    const execution = await session.turn().dispatch(programCall(ALL));
    expect(execution?.error?.message).toBe(
      "Permission denied: only reading is allowed until the plan is approved",
    );
    const reading = await programSessions([tool("look", "read")]);
    const reader = await reading.sessions.open({ mode: "plan", principal: { id: "ann", kind: "user" } });
    expect((await reader.turn().dispatch(programCall("tools.look({})")))?.output).toBe("look ran");
  });

  test("and a program has only the tools that its session can see", async () => {
    const { sessions } = await programSessions(tools);
    const session = await sessions.open({
      tools: ["run_program", "search_tools", "look"],
      principal: { id: "ann", kind: "user" },
    });
    const refused = await session.turn().dispatch(programCall("tools.change({})"));
    expect(refused?.error).toMatchObject({ code: "validation_error" });
    const computed = await session
      .turn()
      .dispatch(programCall(`const name = "change"; return tools[name]({}).catch(({ code }) => code);`));
    expect(computed?.output).toBe("not_found");
    const found = await session.turn().dispatch(programCall(`tools.search_tools({ query: "look change" })`));
    expect(found?.output).toEqual([{ name: "look", description: "" }]);
  });
});
