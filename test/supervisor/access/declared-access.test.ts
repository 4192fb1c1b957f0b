import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { JsonValue } from "../../../src/json/value.ts";
import { CapabilityKernel } from "../../../src/policy/capability-kernel.ts";
import type { PolicyRequest } from "../../../src/policy/policy.ts";
// Inside: checks URLs one by one; through the supervisor each would be a call of an agent's process.
import { checkDeclaredAccess } from "../../../src/supervisor/access/declared-access.ts";
import { kernelPolicy } from "../../../src/supervisor/access/kernel-policy.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "sandgate-access-")));
afterAll(() => rmSync(root, { recursive: true }));
writeFileSync(join(root, "a.txt"), "A");

const kernel = new CapabilityKernel();
kernel.grant("a", {
  tools: ["fetch"],
  fs: [{ directory: root }],
  net: ["https://api.example.com"],
});

const urls = [{ argument: "/urls/*" }];
const slugOf = (input: JsonValue, agent = "a"): unknown => {
  const checked = checkDeclaredAccess(kernel, agent, { urls }, input);
  return "slug" in checked ? checked.slug : "allowed";
};

describe("The URLs that a call names", () => {
  test("are allowed if the agent has the origin of each", () => {
    const input = { urls: ["https://api.example.com/a?b#c", "https://API.example.com:443/"] };
    expect(slugOf(input)).toBe("allowed");
    expect(slugOf(input, "another agent")).toBe("permission_denied");
  });

  test.each([
    ["absent", {}],
    ["none in the list", { urls: [] }],
    ["of another origin", { urls: ["https://api.example.com", "https://example.com"] }],
    ["of another port", { urls: ["https://api.example.com:444"] }],
    ["of another scheme", { urls: ["ftp://api.example.com"] }],
    ["with credentials", { urls: ["https://api.example.com@evil.example"] }],
    ["with the agent's origin as credentials", { urls: ["https://u:p@api.example.com"] }],
    ["not a URL", { urls: ["api.example.com"] }],
    ["not a string", { urls: [7] }],
  ])("are permission_denied if they are %s", (_what, input) => {
    expect(slugOf(input)).toBe("permission_denied");
  });

  test("are limited in number", () => {
    const many = Array.from({ length: 1_001 }, () => "https://api.example.com");
    expect(slugOf({ urls: many.slice(1) })).toBe("allowed");
    expect(slugOf({ urls: many })).toBe("invalid_args");
  });
});

describe("The kernel as a policy", () => {
  const fetching = {
    name: "fetch",
    sandboxes: ["host"],
    access: { paths: [{ argument: "/path", access: "read" }] },
  };
  const decide = (more: object): unknown =>
    kernelPolicy(kernel).check({
      principal: { id: "a", kind: "agent" },
      tool: fetching,
      input: { path: join(root, "a.txt") },
      ...more,
    } as unknown as PolicyRequest);

  test("gives a call the capability of the path that it names, to read only, and nothing else", () => {
    expect(decide({})).toHaveProperty("decision", "allow");
    expect(decide({})).toHaveProperty("grant.capabilities", { fs: [{ directory: root, at: root }] });
  });

  test.each([
    ["there is no principal", { principal: undefined }],
    ["the principal is a user with the id of an agent", { principal: { id: "a", kind: "user" } }],
    ["the agent is unknown", { principal: { id: "b", kind: "agent" } }],
    ["the agent does not have the tool", { tool: { ...fetching, name: "other" } }],
    ["the agent does not have the path", { input: { path: "/etc/passwd" } }],
    ["the path is absent", { input: {} }],
  ])("denies a call if %s", (_why, more) => {
    expect(decide(more)).toMatchObject({ decision: "deny" });
  });
});
