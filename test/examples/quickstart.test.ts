import { readFileSync } from "node:fs";
import { HostPolicy, openSandboxes, ToolRegistry } from "sandgate";
import { expect, test } from "vitest";
import { askOnce } from "../../examples/quickstart/ask.ts";
import { serveConsole } from "../../examples/quickstart/console.ts";

test("in examples/quickstart, a person is asked once over HTTP, and README shows what happens", async () => {
  const [, shown = ""] = /^```text\n(asked: .*?)\n```$/ms.exec(readFileSync("README.md", "utf8")) ?? [];
  const lines = await askOnce();
  expect(lines).toHaveLength(3);
  expect(lines.join("\n")).toBe(shown);
});

test("in examples/quickstart, a console shows the calls", async () => {
  await using sandboxes = await openSandboxes();
  const parts = { registry: new ToolRegistry(), policy: new HostPolicy(), sandboxes };
  const { link, close } = await serveConsole(parts, [{ id: "c1", name: "missing", arguments: {} }]);
  const { origin, hash } = new URL(link);
  const logIn = await fetch(`${origin}/v1/console/session`, {
    method: "POST",
    headers: { origin, "content-type": "application/json" },
    body: JSON.stringify({ token: hash.slice("#token=".length) }),
  });
  const cookie = logIn.headers.get("set-cookie")?.split(";", 1)[0] ?? "";
  const read = async () => (await fetch(`${origin}/v1/calls`, { headers: { cookie } })).json();
  await expect
    .poll(read, { timeout: 30_000 })
    .toMatchObject({ calls: [{ toolName: "missing", code: "not_found" }] });
  expect((await fetch(`${origin}/v1/journal`, { headers: { cookie } })).status).toBe(200);
  await close();
});
