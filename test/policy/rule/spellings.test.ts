import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { ToolDispatchEngine } from "../../../src/engine/engine.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import type { Tool } from "../../../src/engine/tool.ts";
import { CanonicalJson } from "../../../src/json/canonical.ts";
import type { JsonObject } from "../../../src/json/value.ts";
import type { PolicyRule, RuleCondition } from "../../../src/policy/rule/rule.ts";
import { RulePolicy } from "../../../src/policy/rule/rule-policy.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { workspaceIsSupported } from "../../../src/workspace/paths.ts";

const ALLOW: PolicyRule = { effect: "allow", tools: ["*"], sandboxes: ["host"] };
const NO_LINKS = workspaceIsSupported() ? false : "links are not resolved here";

const reader: Tool = {
  name: "read",
  description: "Reads files.",
  inputSchema: { type: "object" },
  sideEffects: "read",
  paths: [
    { argument: "/path", access: "read" },
    { argument: "/files/*", access: "read" },
  ],
  urls: [{ argument: "/url" }],
  host: () => "done",
};

const made: string[] = [];

afterEach(() => {
  for (const directory of made.splice(0)) rmSync(directory, { recursive: true });
});

function workspaceWith(files: readonly string[], links: Readonly<Record<string, string>> = {}): string {
  const workspace = mkdtempSync(join(tmpdir(), "sandgate-spellings-"));
  made.push(workspace);
  for (const file of files) {
    mkdirSync(dirname(join(workspace, file)), { recursive: true });
    writeFileSync(join(workspace, file), file);
  }
  for (const [link, target] of Object.entries(links)) symlinkSync(target, join(workspace, link));
  return workspace;
}

/** Whether the engine runs a call under rules, with the real files of a workspace. */
async function runs(
  input: JsonObject,
  rules: readonly PolicyRule[],
  workspace?: string,
  fallback: "allow" | "deny" = "allow",
): Promise<boolean> {
  const registry = new ToolRegistry();
  registry.register(reader);
  await using sandboxes = await openSandboxes();
  const policy = new RulePolicy({ rules: fallback === "allow" ? [...rules, ALLOW] : rules });
  const context = { registry, policy, sandboxes, sessionId: "s", ...(workspace && { workspace }) };
  const call = { id: "c", name: "read", arguments: input };
  const execution = await new ToolDispatchEngine().dispatch(call, context);
  if (execution?.error !== undefined && execution.error.code !== "permission_denied")
    throw new Error(execution.error.message);
  return execution?.success === true;
}

function deny(condition: RuleCondition, key = "/path"): PolicyRule {
  return { effect: "deny", tools: ["read"], when: { [key as "/path"]: condition } };
}

function allow(condition: RuleCondition, key = "/path"): PolicyRule {
  return { ...ALLOW, when: { [key as "/path"]: condition } } as PolicyRule;
}

describe("a rule that denies a path holds, however the path is spelled", () => {
  const conditions: readonly [string, (workspace: string) => RuleCondition][] = [
    ["a glob", () => ({ glob: "private/**" })],
    ["a glob of absolute paths", (workspace) => ({ glob: `${workspace}/private/**` })],
    ["a prefix", () => ({ prefix: "private/" })],
    ["an absolute prefix", (workspace) => ({ prefix: `${workspace}/private/` })],
    ["a regular expression", () => ({ regex: "^private/" })],
    ["a regular expression without a beginning", () => ({ regex: "private/key" })],
    ["a regular expression for absolute paths", (workspace) => ({ regex: `^${workspace}/private/` })],
    ["the path itself", () => ({ equals: "private/key.txt" })],
    ["one of several paths", (workspace) => ({ oneOf: ["a", `${workspace}/private/key.txt`] })],
    ["any of several conditions", () => ({ any: [{ equals: "x" }, { glob: "private/*.txt" }] })],
    ["a condition below not", () => ({ not: { not: { glob: "private/**" } } })],
  ];

  test.each(conditions)("by %s", async (_, condition) => {
    const workspace = workspaceWith(["private/key.txt", "open.txt"]);
    const rules = [deny(condition(workspace))];
    const spellings = ["private/key.txt", "./private/key.txt", "private//key.txt", "x/../private/key.txt"];
    const absolute = [`${workspace}/private/key.txt`, `${workspace}//private/./key.txt`];
    for (const path of [...spellings, ...absolute])
      expect(await runs({ path }, rules, workspace)).toBe(false);
    expect(await runs({ path: "open.txt" }, rules, workspace)).toBe(true);
    expect(await runs({ path: `${workspace}/open.txt` }, rules, workspace)).toBe(true);
  });

  test.skipIf(NO_LINKS)("through links to files and directories, and links to links", async () => {
    const workspace = workspaceWith(["deep/.env", "private/key.txt"], {
      "notes.md": "deep/.env",
      folder: "private",
      again: "folder",
    });
    const rules = [deny({ glob: "**/.env*" }), deny({ glob: "private/**" })];
    for (const path of [
      "notes.md",
      "folder/key.txt",
      "again/key.txt",
      `${workspace}/again/key.txt`,
      "folder/new.txt",
    ])
      expect(await runs({ path }, rules, workspace)).toBe(false);
    // The name of a link is denied as well, also by its absolute path.
    const byLink = [deny({ glob: "folder/**" })];
    for (const path of ["folder/key.txt", `${workspace}/folder/key.txt`, "again/key.txt"])
      expect(await runs({ path }, byLink, workspace)).toBe(false);
    expect(await runs({ path: "private/key.txt" }, byLink, workspace)).toBe(true);
  });

  test("for files that do not exist, and in another case", async () => {
    const workspace = workspaceWith(["open.txt"]);
    const rules = [deny({ glob: "private/**" })];
    for (const path of ["private/new/file", `${workspace}/private/new`, "PRIVATE/new", "Private/New"])
      expect(await runs({ path }, rules, workspace)).toBe(false);
  });

  test("in a list of paths", async () => {
    const workspace = workspaceWith(["private/key.txt", "open.txt"]);
    const files = ["open.txt", `${workspace}/private/key.txt`];
    for (const key of ["/files/*", "/files/1"])
      expect(await runs({ files }, [deny({ glob: "private/**" }, key)], workspace)).toBe(false);
    expect(await runs({ files: ["open.txt"] }, [deny({ glob: "private/**" }, "/files/*")], workspace)).toBe(
      true,
    );
  });

  test("without a workspace, where paths begin at the root", async () => {
    for (const glob of ["private/**", "/private/**"]) {
      for (const path of ["private/key.txt", "/private/key.txt", "/x/../private/key.txt"])
        expect(await runs({ path }, [deny({ glob })])).toBe(false);
      expect(await runs({ path: "/open.txt" }, [deny({ glob })])).toBe(true);
    }
  });

  test("as a member of the whole input", async () => {
    const workspace = workspaceWith(["private/key.txt"]);
    const rule = deny({ equals: { path: "private/key.txt" } }, "");
    expect(await runs({ path: `${workspace}/private/key.txt` }, [rule], workspace)).toBe(false);
  });

  test("among so many rules that they are looked up by their prefixes and values", async () => {
    const workspace = workspaceWith(["f7/key.txt"], NO_LINKS ? {} : { link: "f7" });
    const globs = Array.from({ length: 40 }, (_, index) => deny({ glob: `f${index}/**` }));
    const exact = Array.from({ length: 40 }, (_, index) => deny({ equals: `./f${index}/key.txt` }));
    for (const rules of [globs, exact]) {
      for (const path of [
        "f7/key.txt",
        `${workspace}/f7/key.txt`,
        "F7/KEY.txt",
        ...(NO_LINKS ? [] : ["link/key.txt"]),
      ])
        expect(await runs({ path }, rules, workspace)).toBe(false);
      expect(await runs({ path: "g7/key.txt" }, rules, workspace)).toBe(true);
    }
  });
});

describe("a rule that allows a path", () => {
  test("allows it as it is written, and nothing about which its spellings disagree", async () => {
    const workspace = workspaceWith(
      ["src/a.ts", "private/key.txt"],
      NO_LINKS ? {} : { "src/link": "../private" },
    );
    const rules = [allow({ glob: "src/**" })];
    expect(await runs({ path: "src/a.ts" }, rules, workspace, "deny")).toBe(true);
    expect(await runs({ path: "src/" }, rules, workspace, "deny")).toBe(true);
    expect(await runs({ path: `${workspace}/src/a.ts` }, rules, workspace, "deny")).toBe(false);
    expect(await runs({ path: "src/link/key.txt" }, rules, workspace, "deny")).toBe(NO_LINKS !== false);
    const absolute = [allow({ glob: `${workspace}/src/**` })];
    expect(await runs({ path: `${workspace}/src/a.ts` }, absolute, workspace, "deny")).toBe(true);
    const both = [allow({ glob: ["src/**", `${workspace}/src/**`] })];
    for (const path of ["src/a.ts", `${workspace}/src/a.ts`])
      expect(await runs({ path }, both, workspace, "deny")).toBe(true);
  });

  test("but for some below not allows none of them in another spelling", async () => {
    const workspace = workspaceWith(["private/key.txt", "open.txt"], NO_LINKS ? {} : { link: "private" });
    const rules = [allow({ not: { glob: "private/**" } })];
    expect(await runs({ path: "open.txt" }, rules, workspace, "deny")).toBe(true);
    const others = [`${workspace}/private/key.txt`, "Private/key.txt", ...(NO_LINKS ? [] : ["link/key.txt"])];
    for (const path of ["private/key.txt", ...others])
      expect(await runs({ path }, rules, workspace, "deny")).toBe(false);
  });

  test.each<[string, RuleCondition, string]>([
    ["a prefix of a directory", { prefix: "src/" }, "src/a.ts"],
    ["a prefix, for the directory itself", { prefix: "src/" }, "src/"],
    ["a regular expression with alternatives", { regex: "^(src|test)/" }, "test/a.ts"],
    ["a regular expression for the end", { regex: "\\.(ts|js)$" }, "src/a.ts"],
    ["a regular expression for names of directories", { regex: "/lib/" }, "src/lib/a.ts"],
    ["a text", { equals: "src/a.ts" }, "src/a.ts"],
    ["a text with a slash at its end", { equals: "src/" }, "src/"],
    ["a glob in braces", { glob: "{src,test}/**" }, "test/a.ts"],
    ["letters in upper case", { glob: "Docs/[A-Z]*" }, "Docs/README"],
  ])("by %s still allows it", async (_, condition, path) => {
    expect(await runs({ path }, [allow(condition)], workspaceWith([]), "deny")).toBe(true);
  });
});

describe("a rule that denies a URL holds, however the URL is spelled", () => {
  const spellings = [
    "https://internal.example.com/admin/x",
    "HTTPS://INTERNAL.example.com/admin/x",
    "https://internal.example.com:443/admin/x",
    "https://internal.example.com./admin/x",
    "https://internal.example.com/%61dmin/x",
    "https://internal.example.com/open/../admin/x",
    "https://internal.example.com/open/%2e%2E/admin/x",
  ];
  test.each<[string, RuleCondition]>([
    ["a glob", { glob: "https://internal.example.com/admin/**" }],
    ["a glob that is itself spelled oddly", { glob: "https://Internal.Example.com:443/admin/**" }],
    ["a prefix", { prefix: "https://internal.example.com/admin" }],
    ["a regular expression", { regex: "^https://internal\\.example\\.com/admin/" }],
    ["the whole URL", { equals: "https://internal.example.com/admin/x" }],
  ])("by %s", async (_, condition) => {
    for (const url of spellings) expect(await runs({ url }, [deny(condition, "/url")])).toBe(false);
    expect(await runs({ url: "https://example.com/admin/x" }, [deny(condition, "/url")])).toBe(true);
  });

  test.each<[string, string, readonly string[]]>([
    [
      "an IPv4 address",
      "http://127.0.0.1/**",
      ["http://127.1/", "http://0x7f.0.0.1/", "http://2130706433/", "http://0177.0.0.1/"],
    ],
    ["an IPv6 address", "http://[[]::1[]]/**", ["http://[0:0:0:0:0:0:0:1]/", "http://[0::1]:80/"]],
    [
      "a name in Unicode",
      "https://bücher.example/**",
      ["https://xn--bcher-kva.example/", "https://BÜCHER.example/a"],
    ],
    ["a name in Punycode", "https://xn--bcher-kva.example/**", ["https://bücher.example/"]],
  ])("with %s", async (_, glob, urls) => {
    for (const url of urls) expect(await runs({ url }, [deny({ glob }, "/url")])).toBe(false);
  });

  test("and one that allows URLs allows those that are written plainly", async () => {
    const rules = [allow({ glob: "https://docs.example.com/**" }, "/url")];
    for (const url of ["https://docs.example.com/ä?q=a&b=%26", "https://docs.example.com/A"])
      expect(await runs({ url }, rules, undefined, "deny")).toBe(true);
    for (const url of ["https://DOCS.example.com/", "https://docs.example.com.evil.org/"])
      expect(await runs({ url }, rules, undefined, "deny")).toBe(false);
  });
});

test("a policy that is asked directly compares the paths of the call, and without them their texts", () => {
  const policy = new RulePolicy({ rules: [deny({ glob: "private/**" }), ALLOW] });
  const registry = new ToolRegistry();
  registry.register(reader);
  const tool = registry.subjects[0];
  if (tool === undefined) throw new Error("the tool is not registered");
  const decide = (path: string, paths?: readonly { argument: string; path: string }[]): string => {
    const input = { path };
    const call = { callId: "c", sessionId: "s", input, canonical: new CanonicalJson(input), tool };
    return policy.check({ ...call, workspace: "/work", paths }).decision;
  };
  expect(decide("notes.md", [{ argument: "/path", path: "private/key" }])).toBe("deny");
  expect(decide("/work/private/key")).toBe("deny");
  expect(decide("notes.md")).toBe("allow");
  const explained = policy.explain({
    callId: "c",
    sessionId: "s",
    input: { path: "notes.md" },
    tool,
    workspace: "/work",
    canonical: new CanonicalJson({}),
    paths: [{ argument: "/path", path: "private/key" }],
  });
  expect(explained.rules[0]).toMatchObject({ matched: "unclear", why: "unclear: /path (glob)" });
});
