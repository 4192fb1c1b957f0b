import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { ToolRegistry } from "../../src/engine/registry.ts";
import type { Tool } from "../../src/engine/tool.ts";
import { allow } from "../../src/policy/policy.ts";
import { contextFor, dispatchTool, hostTool, recordEvents } from "./helpers.ts";

function digestOf(tool: Tool): string | undefined {
  return new ToolRegistry().register(tool).subjects[0]?.definition?.digest;
}

const base: Tool = { name: "tool", description: "A tool.", inputSchema: { type: "object" }, host: () => 1 };

describe("The digest of a tool's definition", () => {
  test.each<[string, Partial<Tool>]>([
    ["name", { name: "other" }],
    ["title", { title: "A title" }],
    ["description", { description: "Another." }],
    ["input schema", { inputSchema: { type: "object", required: ["a"] } }],
    ["output schema", { outputSchema: { type: "string" } }],
    ["annotations", { annotations: { readOnlyHint: true } }],
    ["class", { sideEffects: "read" }],
    ["tags", { tags: ["a"] }],
    ["implementations", { quickjs: { source: "export default () => 1" } }],
    ["URL", { remote: { url: "https://example.com/a" } }],
    ["component", { wasm: { component: new Uint8Array([1]) } }],
  ])("changes with its %s", (_what, more) => {
    const digest = digestOf(base);
    expect(digest).toMatch(/^[0-9a-f]{64}$/);
    expect(digestOf({ ...base })).toBe(digest);
    expect(digestOf({ ...base, ...more })).not.toBe(digest);
  });

  test("is that of a tool that declares the default class", () => {
    expect(digestOf({ ...base, sideEffects: "destructive" })).toBe(digestOf(base));
  });

  test("does not change with the order of members, or of lists whose order has no meaning", () => {
    const schema = {
      type: "object",
      properties: { a: { enum: [1, "b", { c: [1, 2] }] }, required: { type: ["string", "null"] } },
      required: ["a", "required"],
    };
    const reordered = {
      required: ["required", "a"],
      properties: { required: { type: ["null", "string"] }, a: { enum: [{ c: [1, 2] }, 1, "b"] } },
      type: "object",
    };
    expect(digestOf({ ...base, inputSchema: reordered })).toBe(digestOf({ ...base, inputSchema: schema }));
  });

  test("changes with the order of what has one, such as the items of a default or of `prefixItems`", () => {
    const inOrder = (first: string, second: string): string | undefined =>
      digestOf({
        ...base,
        inputSchema: { type: "object", properties: { a: { default: { enum: [first, second] } } } },
      });
    expect(inOrder("x", "y")).not.toBe(inOrder("y", "x"));
    const inTuple = (first: string, second: string): string | undefined =>
      digestOf({
        ...base,
        inputSchema: {
          type: "object",
          properties: { a: { prefixItems: [{ type: first }, { type: second }] } },
        },
      });
    expect(inTuple("string", "number")).not.toBe(inTuple("number", "string"));
  });

  test("changes with the content of a file, and not with its place", () => {
    const folder = mkdtempSync(join(tmpdir(), "sandgate-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const [a, b] = [join(folder, "a.js"), join(folder, "b.js")];
    const inFile = (file: string): string | undefined => digestOf({ ...base, quickjs: { file } });
    writeFileSync(a, "export default () => 1");
    writeFileSync(b, "export default () => 1");
    expect(inFile(a)).toBe(inFile(b));
    const before = inFile(a);
    writeFileSync(a, "export default () => 2");
    expect(inFile(a)).not.toBe(before);
    expect(inFile(join(folder, "gone.js"))).toMatch(/^[0-9a-f]{64}$/);
  });

  test("changes with anything in the image of a virtual machine, and not with its place", () => {
    const folder = mkdtempSync(join(tmpdir(), "sandgate-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const withImage = (image: string): string | undefined =>
      digestOf({ ...base, microvm: { image, command: "sh" } });
    const make = (name: string, change: (image: string) => void): string => {
      const image = join(folder, name);
      mkdirSync(join(image, "deep"), { recursive: true });
      writeFileSync(join(image, "deep", "file"), "1");
      symlinkSync("file", join(image, "deep", "link"));
      change(image);
      return image;
    };
    const same = withImage(make("a", () => {}));
    expect(withImage(make("b", () => {}))).toBe(same);
    const changes: Record<string, (image: string) => void> = {
      content: (image) => writeFileSync(join(image, "deep", "file"), "2"),
      mode: (image) => chmodSync(join(image, "deep", "file"), 0o755),
      name: (image) => renameSync(join(image, "deep", "file"), join(image, "deep", "file2")),
      directory: (image) => mkdirSync(join(image, "empty")),
      link: (image) => {
        rmSync(join(image, "deep", "link"));
        symlinkSync("other", join(image, "deep", "link"));
      },
    };
    const digests = Object.entries(changes).map(([name, change]) => withImage(make(name, change)));
    expect(new Set([same, withImage(join(folder, "gone")), ...digests]).size).toBe(digests.length + 2);
  });
});

describe("The receipt of a call", () => {
  test("has the digest of its grant, another one for each call", async () => {
    const ctx = await contextFor([hostTool(() => 1)]);
    const digests = [await dispatchTool(ctx), await dispatchTool(ctx, { a: 1 })].map(
      ({ receipt }) => receipt.grant?.digest,
    );
    expect(digests.every((digest) => /^[0-9a-f]{64}$/.test(digest ?? ""))).toBe(true);
    expect(digests[0]).not.toBe(digests[1]);
  });

  test("has no grant if nothing left the pipeline", async () => {
    const ctx = await contextFor([hostTool(() => 1)], {
      policy: { check: () => ({ decision: "deny", reason: "" }) },
    });
    expect((await dispatchTool(ctx)).receipt).not.toHaveProperty("grant");
  });
});

test("The event of a call that starts has the revision of its policy", async () => {
  const { events, seen } = recordEvents();
  const policy = { revision: "sha-1", check: () => allow({ sandbox: "host" }) };
  await dispatchTool(await contextFor([hostTool(() => 1)], { policy, events }));
  expect(seen[0]).toMatchObject({ type: "tool.started", policyRevision: "sha-1" });
});
