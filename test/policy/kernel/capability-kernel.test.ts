import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AgentCapabilities } from "../../../src/policy/agent-capabilities.ts";
import { CapabilityKernel, type KernelChange } from "../../../src/policy/capability-kernel.ts";

function kernelWith(capabilities: AgentCapabilities): CapabilityKernel {
  const kernel = new CapabilityKernel();
  kernel.grant("a", capabilities);
  return kernel;
}

describe("The kernel", () => {
  test("refuses everything that was not granted, and every agent that it does not know", () => {
    const kernel = kernelWith({});
    for (const agent of ["a", "b", "__proto__", ""]) {
      expect(kernel.checkTool(agent, "Echo")).toBe(false);
      expect(kernel.checkFs(agent, "/", "r")).toBe(false);
      expect(kernel.checkNet(agent, "https://example.com")).toBe(false);
    }
  });

  test("compares names of tools with patterns", () => {
    const kernel = kernelWith({ tools: ["Echo", "fs_*"] });
    expect(["Echo", "fs_read", "fs_"].every((tool) => kernel.checkTool("a", tool))).toBe(true);
    expect(["echo", "Echo2", "xfs_read", ""].some((tool) => kernel.checkTool("a", tool))).toBe(false);
  });

  test("compares paths name by name", () => {
    const kernel = kernelWith({
      fs: [
        { directory: "/srv/data" },
        { directory: "/srv/data/out", write: true },
        { file: "/srv/file", write: true },
      ],
    });
    expect(kernel.checkFs("a", "/srv/data", "r")).toBe(true);
    expect(kernel.checkFs("a", "/srv/data/x/y", "r")).toBe(true);
    expect(kernel.checkFs("a", "/srv/data/x", "rw")).toBe(false);
    expect(kernel.checkFs("a", "/srv/data/out/x", "rw")).toBe(true);
    expect(kernel.checkFs("a", "/srv/data-not/x", "r")).toBe(false);
    expect(kernel.checkFs("a", "/srv", "r")).toBe(false);
    expect(kernel.checkFs("a", "/srv/file", "rw")).toBe(true);
    expect(kernel.checkFs("a", "/srv/file/below", "r")).toBe(false);
  });

  test("refuses paths that are not canonical", () => {
    const kernel = kernelWith({ fs: [{ directory: "/srv/data", write: true }] });
    for (const path of [
      "/srv/data/../x",
      "/srv//data",
      "/srv/data/",
      "srv/data",
      "/srv/data/./x",
      "/srv/data/\0",
    ])
      expect(kernel.checkFs("a", path, "r")).toBe(false);
  });

  test("compares origins as grants do", () => {
    const kernel = kernelWith({ net: ["https://*.example.com", "http://localhost:8080"] });
    expect(kernel.checkNet("a", "https://api.example.com")).toBe(true);
    expect(kernel.checkNet("a", "http://localhost:8080")).toBe(true);
    for (const origin of [
      "https://example.com.evil.org",
      "http://api.example.com",
      "https://api.example.com:444",
      "null",
      "",
    ])
      expect(kernel.checkNet("a", origin)).toBe(false);
  });

  test("counts calls up to the limits", () => {
    const kernel = kernelWith({ limits: { calls: 3, callsPerTool: { Echo: 1 } } });
    expect(kernel.count("a", "Echo")).toBeUndefined();
    expect(kernel.count("a", "Echo")).toBe("tool 'Echo' was called 1 times, its limit for this agent");
    expect(kernel.count("a", "toString")).toBeUndefined();
    expect(kernel.count("a", "Read")).toBeUndefined();
    expect(kernel.count("a", "Read")).toBe("this agent made 3 calls, its limit");
  });

  test("has no more after a revocation than before the grant", () => {
    const tools = fc.uniqueArray(fc.constantFrom("a*", "b", "c_*"));
    fc.assert(
      fc.property(tools, tools, (first, second) => {
        const kernel = kernelWith({ tools: first });
        kernel.grant("a", { tools: second });
        kernel.revoke("a", { tools: second });
        const left = kernel.capabilitiesOf("a")?.tools ?? [];
        expect(left).toEqual(first.filter((tool) => !second.includes(tool)));
      }),
    );
  });

  test("tells its listeners of each change, and forgets an agent", () => {
    const kernel = new CapabilityKernel();
    const changes: KernelChange[] = [];
    const stop = kernel.onChange((change) => changes.push(change));
    kernel.grant("a", { tools: ["Echo"], limits: { calls: 1 } });
    kernel.count("a", "Echo");
    kernel.revoke("a");
    kernel.revoke("a");
    stop();
    kernel.grant("a", { limits: { calls: 1 } });
    expect(changes.map(({ kind }) => kind)).toEqual(["granted", "revoked"]);
    expect(kernel.checkTool("a", "Echo")).toBe(false);
    expect(kernel.count("a", "Echo")).toBeUndefined();
  });

  test.each([
    ["an unknown capability", { files: [] }, "unknown member 'files'"],
    [
      "a path that is not canonical",
      { fs: [{ directory: "/srv/../etc" }] },
      "must be absolute and canonical",
    ],
    ["another shape", { fs: [{ path: "/srv", mode: "rw" }] }, "'mode: rw' is 'write: true'"],
    ["a file and a directory", { fs: [{ file: "/a", directory: "/b" }] }, "must be { directory, write } or"],
    ["an origin that is none", { net: ["example.com"] }, "must be an origin"],
    ["a limit that is none", { limits: { calls: -1 } }, "must be a whole number of calls"],
    ["tools that are no list", { tools: "Echo" }, "must be a list"],
  ])("grants nothing with %s", (_what, capabilities, message) => {
    const kernel = new CapabilityKernel();
    expect(() => kernel.grant("a", capabilities as AgentCapabilities)).toThrow(message);
    expect(kernel.capabilitiesOf("a")).toBeUndefined();
  });
});
