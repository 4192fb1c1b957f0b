import { afterAll, expect, test } from "vitest";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { Programs, tool } from "../harness.ts";

const sandboxes = await openSandboxes({ workers: { threads: 1 } });
afterAll(() => sandboxes.close());

const tools = [
  tool("send_mail", () => null, { description: "Sends a mail. Slowly." }),
  tool("read_mail", () => null),
  tool("hidden_mail", () => null, { visibleTo: () => false }),
];

test("programs and the model find tools, and learn their types", async () => {
  const programs = new Programs(sandboxes, { tools });
  const direct = await programs.call("search_tools", { query: "mails", limit: 1 });
  const inside = await programs.run(`
    const [first] = await tools.search_tools({ query: "send mail", limit: 1 });
    return [first, await tools.describe_tools({ names: [first.name, "gone"] })];`);
  expect(direct.output).toHaveLength(1);
  expect(inside.output).toEqual([
    { name: "send_mail", description: "Sends a mail." },
    {
      declarations:
        "declare const tools: {\n  /** Sends a mail. Slowly. */ send_mail: (input?: { [name: string]: any }) => Promise<any>;\n};\n",
      unknown: ["gone"],
    },
  ]);
});

test("a program is told only of tools that it can call", async () => {
  const programs = new Programs(sandboxes, { tools, granted: ["search_tools", "describe_tools", "read_*"] });
  const { output } = await programs.run(`
    const found = await tools.search_tools({ query: "mail", limit: 50 });
    const { unknown } = await tools.describe_tools({ names: ["send_mail", "read_mail"] });
    return [found.map(({ name }) => name), unknown];`);
  expect(output).toEqual([["read_mail"], ["send_mail"]]);
});
