import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { KillPoints } from "./kill-points.ts";

let killing: KillPoints;
beforeAll(async () => {
  killing = new KillPoints();
  await killing.start();
});
afterAll(() => killing[Symbol.asyncDispose]());

const run = (tool: string, at: string) => killing.run(tool, (step) => step === at);
const UNKNOWN = { success: false, error: { code: "execution_error", effect: "unknown" } };

/** The steps of every call. `<` is a message of Restate, `>` one of the server, before which it is killed. */
const NOT_BEGUN = [
  "add > 1",
  "accept is sent 1",
  "accept > 2",
  "accept is answered 1",
  "message > 1",
  "call < 1",
  "call > 1",
];

describe("A server that is killed (-9) at a step of a call that must not run twice", () => {
  test.each([...NOT_BEGUN, "call > 2"])("leaves it to another one that runs it, before '%s'", async (at) => {
    const { isKilled, result, faults } = await run("note", at);
    expect([isKilled, result?.success, faults]).toEqual([true, true, []]);
  });

  test.each([
    ["its beginning is kept", "call > 3"],
    ["its tool has begun", "before-effect 1"],
    ["its tool has had its effect", "after-effect 1"],
    ["its result is sent", "call > 4"],
  ])("leaves it as unknown when %s, and nothing runs again", async (_, at) => {
    const { isKilled, result, faults } = await run("note", at);
    expect([isKilled, faults]).toEqual([true, []]);
    expect(result).toMatchObject(UNKNOWN);
  });

  test.each([
    ["is kept", "call > 5"],
    ["is that of the message", "message > 3"],
    ["becomes part of the session", "finish > 1"],
  ])("leaves its result when that %s", async (_, at) => {
    const { isKilled, result, faults } = await run("note", at);
    expect([isKilled, result?.success, faults]).toEqual([true, true, []]);
  });
});

describe("A server that is killed (-9) at a step of a call that may run again", () => {
  test.each([
    ["put", "before-effect 1"],
    ["put", "after-effect 1"],
    ["put", "call > 4"],
    ["read", "after-effect 1"],
    ["pure", "after-effect 1"],
  ])("leaves it to another one, which runs '%s', before '%s'", async (tool, at) => {
    const { isKilled, result, faults } = await run(tool, at);
    expect([isKilled, result?.success, faults]).toEqual([true, true, []]);
  });
});

describe("A server that is killed (-9) at a step of a call that a person is asked about", () => {
  test.each([
    ["the question is listed", "OpenInquiries.put > 1"],
    ["it is kept", "Inquiry.add > 1"],
    ["it is that of the session", "addInquiry > 2"],
    ["the answer is sent", "Inquiry.resolve is sent 1"],
    ["it is kept", "Inquiry.resolve > 1"],
  ])("asks nothing twice, and has it run once: before %s (%s)", async (_, at) => {
    const { isKilled, result, faults } = await run("asks", at);
    expect([isKilled, result?.success, faults]).toEqual([true, true, []]);
  });

  test("leaves it as unknown only if it may have begun, before who answered is told so", async () => {
    const { isKilled, result, steps, faults } = await run("asks", "Inquiry.resolve is answered 1");
    expect([isKilled, faults]).toEqual([true, []]);
    // Restate tells the call and who answered at the same time.
    const mayHaveBegun = steps
      .slice(steps.indexOf("Inquiry.resolve is sent 1"))
      .some((step) => step.startsWith("call >"));
    if (result?.success !== true) {
      expect(result).toMatchObject(UNKNOWN);
      expect(mayHaveBegun).toBe(true);
    }
  });

  test.each(["before-effect 1", "after-effect 1"])("leaves it as unknown at '%s'", async (at) => {
    const { isKilled, result, faults } = await run("asks", at);
    expect([isKilled, faults]).toEqual([true, []]);
    expect(result).toMatchObject(UNKNOWN);
  });
});

describe("A server that is killed (-9) while it runs a program", () => {
  test("leaves it to another one, which goes on where it is suspended, and asks once", async () => {
    const { isKilled, result, faults } = await run("run_program", "Program.put is answered 1");
    expect([isKilled, result?.success, faults]).toEqual([true, true, []]);
    expect(result?.output).toMatchObject({ asks: expect.stringMatching(/^done /) });
  });

  test("leaves it as unknown before it is suspended, and nothing of it runs again", async () => {
    const { isKilled, result, faults } = await run("run_program", "after-effect 1");
    expect([isKilled, faults]).toEqual([true, []]);
    expect(result).toMatchObject(UNKNOWN);
  });
});
