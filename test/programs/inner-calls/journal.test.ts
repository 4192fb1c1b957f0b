import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { openJournal } from "../../../src/journal/journal.ts";
import { verifyJournal } from "../../../src/journal/verify/verify-journal.ts";
import { deny } from "../../../src/policy/policy.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { TemporaryDirectory } from "../../journal/records.ts";
import { Programs, tool } from "../harness.ts";

const sandboxes = await openSandboxes({ workers: { threads: 1 } });
afterAll(() => sandboxes.close());

interface Entry {
  readonly type: string;
  readonly tool_call_id?: string;
  readonly tool?: string;
  readonly parent?: string;
}

function entriesIn(directory: string): readonly Entry[] {
  return readdirSync(directory)
    .filter((name) => name.endsWith(".jsonl"))
    .flatMap((name) => readFileSync(join(directory, name), "utf8").split("\n").slice(0, -1))
    .map((line) => JSON.parse(line) as Entry);
}

test("the journal has a record of each call of a program, with the program as its parent", async () => {
  using directory = new TemporaryDirectory();
  {
    await using journal = await openJournal({ directory: directory.path });
    const programs = new Programs(sandboxes, {
      tools: [tool("save", ({ name }) => name as string, { sideEffects: "write" }), tool("wipe", () => null)],
      decide: ({ tool: { name } }) => (name === "wipe" ? deny("nothing is wiped") : undefined),
      more: { journal },
    });
    const { output } = await programs.run(
      `return [await tools.save({ name: "a" }), await tools.wipe({}).catch(({ code }) => code)];`,
    );
    expect(output).toEqual(["a", "permission_denied"]);
  }
  const entries = entriesIn(directory.path).filter(({ tool_call_id }) => tool_call_id !== undefined);
  expect(entries).toMatchObject([
    { type: "tool.call.dispatched", tool_call_id: "call", tool: "run_program" },
    {
      type: "tool.call.dispatched",
      tool_call_id: "call/1",
      tool: "save",
      parent: "call",
      args: { name: "a" },
    },
    { type: "tool.call.ended", tool_call_id: "call/1" },
    { type: "tool.call.denied", tool_call_id: "call/2", tool: "wipe", parent: "call" },
    { type: "tool.call.ended", tool_call_id: "call" },
  ]);
  expect(entries[0]).not.toHaveProperty("parent");
  expect(await verifyJournal({ directory: directory.path })).not.toHaveProperty("contradiction");
});

test("a call of a program that cannot be recorded does not run", async () => {
  const ran: string[] = [];
  using directory = new TemporaryDirectory();
  const journal = await openJournal({ directory: directory.path });
  const programs = new Programs(sandboxes, {
    tools: [
      tool("stop_recording", async () => void (await journal.close())),
      tool("save", () => void ran.push("save"), { sideEffects: "write" }),
    ],
    more: { journal },
  });
  const { output } = await programs.run(`
    await tools.stop_recording({});
    return tools.save({}).catch(({ code, message }) => [code, message]);`);
  expect(output).toEqual([expect.any(String), "Tool 'save' was not run: its record could not be written"]);
  expect(ran).toEqual([]);
});
