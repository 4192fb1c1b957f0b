import { afterAll, expect, test } from "vitest";
import type { ToolStart } from "../../../src/engine/call/context.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { Programs, textOf, tool } from "../harness.ts";

const sandboxes = await openSandboxes({ workers: { threads: 1 } });
afterAll(() => sandboxes.close());

const CODE = `
  const tried = async (name) => tools[name]({ name }).catch(({ code, message }) => [code, message]);
  return [await tried("first"), await tried("second"), await tried("third")];`;

/** Tools that write down which of them ran. */
function toolsThat(ran: string[]) {
  return ["first", "second", "third"].map((name) =>
    tool(
      name,
      () => {
        ran.push(name);
        return name;
      },
      { sideEffects: "write" },
    ),
  );
}

test("each call of a program passes both hooks, with its own id, name and input", async () => {
  const called: unknown[] = [];
  const started: ToolStart[] = [];
  const programs = new Programs(sandboxes, {
    tools: toolsThat([]),
    more: {
      hooks: {
        onToolCall: ({ id, name }) => void called.push([id, name]),
        onToolStart: (start) => void started.push(start),
      },
    },
  });
  expect((await programs.run(CODE)).output).toEqual(["first", "second", "third"]);
  expect(called).toEqual([
    ["call", "run_program"],
    ["call/1", "first"],
    ["call/2", "second"],
    ["call/3", "third"],
  ]);
  const [program, first] = started;
  expect(program).toMatchObject({ callId: "call", toolName: "run_program", grant: { sandbox: "quickjs" } });
  expect(first).toMatchObject({
    callId: "call/1",
    toolName: "first",
    input: { name: "first" },
    grant: { sandbox: "host" },
  });
});

test("a hook can deny or abort a call of a program, which then runs nothing and is told to the model", async () => {
  const ran: string[] = [];
  const programs = new Programs(sandboxes, {
    tools: toolsThat(ran),
    more: {
      hooks: {
        onToolCall: ({ name }) => (name === "first" ? "abort" : undefined),
        onToolStart: ({ toolName }) => (toolName === "second" ? { deny: "not on Fridays" } : undefined),
      },
    },
  });
  const execution = await programs.run(CODE);
  expect(execution.output).toEqual([
    ["permission_denied", "Permission denied: a hook aborted the call"],
    ["permission_denied", expect.not.stringContaining("Fridays")],
    "third",
  ]);
  expect(ran).toEqual(["third"]);
  expect(textOf(execution)).toContain(
    [
      "- first: denied, failed (permission_denied), effect none",
      "- second: denied, failed (permission_denied), effect none",
      "- third: allowed, effect committed",
    ].join("\n"),
  );
});

test("a hook that throws denies the call of a program, and not the program", async () => {
  const ran: string[] = [];
  const programs = new Programs(sandboxes, {
    tools: toolsThat(ran),
    more: {
      hooks: {
        onToolStart: ({ toolName }) => {
          if (toolName === "first") throw new Error("the hook is broken");
        },
      },
    },
  });
  const { output } = await programs.run(CODE);
  expect(output).toEqual([["permission_denied", expect.any(String)], "second", "third"]);
  expect(ran).toEqual(["second", "third"]);
});
