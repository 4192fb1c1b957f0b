import { describe, expect, test } from "vitest";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { parseExecutors } from "../../src/tool/implementations/remote-implementation.ts";

describe("the address of an executor", () => {
  test.each([
    ["http://127.0.0.1:7420", { url: "http://127.0.0.1:7420", authority: "127.0.0.1:7420", isPrivate: true }],
    ["http://localhost", { origin: "http://localhost", authority: "localhost", isPrivate: true }],
    ["http://[::1]:1", { authority: "[::1]:1", isPrivate: true }],
    ["https://executor.example/", { url: "https://executor.example", basePath: "", isPrivate: true }],
    ["https://lb.example:8443/tools/", { url: "https://lb.example:8443/tools", basePath: "/tools" }],
    ["http://10.1.2.3:7420", { isPrivate: false }],
    ["http://127.0.0.1.example", { isPrivate: false }],
    ["unix:/run/sandgate.sock", { url: "unix:/run/sandgate.sock", socketPath: "/run/sandgate.sock" }],
    [
      "unix:///run/sandgate.sock",
      { url: "unix:/run/sandgate.sock", authority: "localhost", isPrivate: true },
    ],
  ])("the address of an executor can be %s", (url, address) => {
    expect(parseExecutors(url)).toMatchObject([address]);
    expect(parseExecutors([new URL(url)])).toMatchObject([address]);
  });

  test("an executor address that is given several times is used once", () => {
    expect(parseExecutors(["http://a.example", "http://a.example/", "http://A.example:80"])).toHaveLength(1);
  });

  test.each<[unknown, RegExp]>([
    [undefined, /must be a URL/],
    [7, /must be a URL/],
    [[], /a list of 1 to 64/],
    [Array.from({ length: 65 }, (_, n) => `http://e${n}.example`), /a list of 1 to 64/],
    [["http://a.example", 7], /must be a URL/],
    ["/v1", /must be an absolute URL/],
    ["ftp://a.example", /http:, https: or unix:/],
    ["unix:relative.sock", /http:, https: or unix:/],
    ["http://me:secret@a.example", /must not contain credentials/],
    ["http://a.example/?tenant=1", /neither a query nor a fragment/],
    ["http://a.example/#x", /neither a query nor a fragment/],
  ])("an executor address must not be %j, and registration reports why", (executor, reason) => {
    expect(parseExecutors(executor)).toMatch(reason);
    const tool = { name: "tool", description: "", inputSchema: {}, remote: { executor } } as never;
    if (executor !== undefined) expect(() => new ToolRegistry().register(tool)).toThrow(reason);
  });

  test("an executor address excludes other remote implementations", () => {
    const remote = { executor: "http://a.example", url: "http://b.example" };
    const tool = { name: "tool", description: "", inputSchema: {}, remote };
    expect(() => new ToolRegistry().register(tool)).toThrow(/one of url, http, web, executor and mcp/);
  });
});
