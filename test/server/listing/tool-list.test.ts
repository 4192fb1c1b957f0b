import { expect, test } from "vitest";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import type { Tool } from "../../../src/engine/tool.ts";
import { LockPins, registeredDefinitions } from "../../../src/pins/lock-file.ts";
import { HostPolicy } from "../../../src/policy/policy.ts";
import { wasiComponent } from "../../fixtures/wasm/wasi-component.ts";
import { CREDENTIALS, refusalOf, startServer, TestClient } from "../harness.ts";

interface ListedTool {
  readonly name: string;
  readonly [member: string]: unknown;
}

interface ToolPage {
  readonly tools: readonly ListedTool[];
  readonly next?: string;
}

const PATH = "/v1/console/tools";

function tool(name: string, more: Partial<Tool> = {}): Tool {
  return {
    name,
    description: `Does ${name}.`,
    inputSchema: { type: "object" },
    sideEffects: "read",
    host: () => null,
    ...more,
  };
}

test("approvers, readers and admins are listed the tools, and callers are not", async () => {
  const server = await startServer([tool("look")]);
  for (const name of ["carol", "erin", "frank"] as const) {
    expect(await new TestClient(server, name).json("GET", PATH)).toEqual({
      tools: [
        {
          name: "look",
          description: "Does look.",
          sideEffects: "read",
          sandboxes: ["host"],
          inputSchema: '{\n  "type": "object"\n}',
          source: "config",
          pin: { state: "none" },
        },
      ],
    });
  }
  expect(refusalOf(await new TestClient(server, "alice").send("GET", PATH))).toBe("403 forbidden");
});

test("what a tool says of itself is escaped, cut, and without secrets", async () => {
  const secret = "AKIAIOSFODNN7EXAMPLE";
  const description = `Reads\u202e a \u001b[2Jfile. ${secret} ${"long ".repeat(10_000)}`;
  const inputSchema = { type: "object", description: `\u202e ${secret}` } as const;
  const huge = { type: "object", description: "x".repeat(70_000) } as const;
  const server = await startServer([
    tool("hostile", { description, inputSchema }),
    tool("huge", { inputSchema: huge }),
  ]);
  const { tools } = await new TestClient(server, "erin").json<ToolPage>("GET", PATH);
  const [hostile, other] = tools;
  expect(hostile?.["description"]).toContain("Reads\\u202e a \\u001b[2Jfile.");
  expect(String(hostile?.["description"]).length).toBeLessThan(10_000);
  expect(hostile?.["inputSchema"]).toContain("\\u202e [redacted: aws-key]");
  expect(JSON.stringify(tools)).not.toContain(secret);
  expect(other).not.toHaveProperty("inputSchema");
});

test("a tool that differs from its pin is listed with what changed", async () => {
  const approved = new ToolRegistry();
  approved.register(tool("same"));
  approved.register(tool("other", { description: "Reads a note." }));
  const server = await startServer([]);
  const registry = new ToolRegistry({ pins: new LockPins(registeredDefinitions(approved)) });
  for (const each of [tool("same"), tool("other", { description: "Sends\u202e a note." }), tool("late")]) {
    registry.register(each);
  }
  server.reload({ registry, policy: new HostPolicy(), credentials: CREDENTIALS });
  const { tools } = await new TestClient(server, "erin").json<ToolPage>("GET", PATH);
  expect(tools).toMatchObject([
    { name: "late", pin: { state: "new" } },
    { name: "other", pin: { state: "changed" } },
    { name: "same", pin: { state: "pinned" } },
  ]);
  const { diff } = tools[1]?.["pin"] as { diff: string };
  expect(diff).toBe(
    ["tool 'other': changed", "  /description", '  - | "Reads a note."', '  + | "Sends\\u202e a note."'].join(
      "\n",
    ),
  );
});

test("a component is listed with what it imports and exports", async () => {
  const component = await wasiComponent();
  const server = await startServer([
    { ...tool("files"), host: undefined, wasm: { component, export: "run" } } as unknown as Tool,
    { ...tool("gone"), host: undefined, wasm: { component: "/nowhere.wasm" } } as unknown as Tool,
  ]);
  const { tools } = await new TestClient(server, "erin").json<ToolPage>("GET", PATH);
  expect(tools).toMatchObject([
    { name: "files", source: "component", component: { imports: expect.any(Array) } },
    { name: "gone", source: "component" },
  ]);
  const { imports, exports } = tools[0]?.["component"] as Record<"imports" | "exports", string[]>;
  expect(imports).toContainEqual(expect.stringMatching(/^wasi:\S+ \([\w-]+\)$/));
  expect(exports).not.toEqual([]);
  expect(tools[1]).not.toHaveProperty("component");
});

test("pages go on after the last name, even if that tool is gone", async () => {
  const server = await startServer(["d", "b", "a", "c"].map((name) => tool(name)));
  const erin = new TestClient(server, "erin");
  const first = await erin.json<ToolPage>("GET", `${PATH}?limit=2`);
  expect(first).toMatchObject({ tools: [{ name: "a" }, { name: "b" }], next: "b" });
  const second = await erin.json<ToolPage>("GET", `${PATH}?limit=2&after=bb`);
  expect(second).toMatchObject({ tools: [{ name: "c" }, { name: "d" }] });
  expect(second).not.toHaveProperty("next");
  expect(refusalOf(await erin.send("GET", `${PATH}?limit=501`))).toBe("400 bad_request");
});

test("the tools of a page have a bounded number of characters", async () => {
  const inputSchema = { type: "object", description: "x".repeat(60_000) } as const;
  const names = Array.from({ length: 60 }, (_, index) => `tool${String(index).padStart(2, "0")}`);
  const server = await startServer(names.map((name) => tool(name, { inputSchema })));
  const erin = new TestClient(server, "erin");
  const listed: string[] = [];
  let pages = 0;
  for (let after = ""; ; pages++) {
    const { text } = await erin.send("GET", `${PATH}?after=${after}`);
    expect(text.length).toBeLessThan(2_100_000);
    const { tools, next } = JSON.parse(text) as ToolPage;
    listed.push(...tools.map(({ name }) => name));
    if (next === undefined) break;
    after = next;
  }
  expect(pages).toBeGreaterThan(0);
  expect(listed).toEqual(names);
});
