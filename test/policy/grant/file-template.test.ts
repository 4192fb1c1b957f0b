import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CanonicalJson } from "../../../src/json/canonical.ts";
import type { JsonValue } from "../../../src/json/value.ts";
import type { RuleCapabilities } from "../../../src/policy/grant/execution-grant.ts";
import type { PolicyDecision, PolicySubject } from "../../../src/policy/policy.ts";
import type { PolicyRule } from "../../../src/policy/rule/rule.ts";
import { RulePolicy } from "../../../src/policy/rule/rule-policy.ts";

const READ: PolicySubject = { name: "read", sideEffects: "read", sandboxes: ["quickjs"], inputSchema: {} };

function allowing(...fs: readonly object[]): PolicyRule {
  const capabilities = { fs: fs as NonNullable<RuleCapabilities["fs"]> };
  return { name: "notes", tools: ["*"], effect: "allow", sandboxes: ["quickjs"], capabilities };
}

function decide(rule: PolicyRule, input: JsonValue): PolicyDecision {
  const call = { callId: "c", sessionId: "s", input, canonical: new CanonicalJson(input), tool: READ };
  return new RulePolicy({ rules: [rule] }).check(call);
}

function grantsOf(rule: PolicyRule, input: JsonValue): unknown {
  const decision = decide(rule, input);
  return decision.decision === "allow" ? decision.grant.capabilities.fs : decision;
}

const BY_PATH = { file: { argument: "/path" }, within: "/srv/notes" };

describe("a file out of an argument", () => {
  test.each([
    ["may.txt", "/srv/notes/may.txt", "/may.txt"],
    ["2026/may.txt", "/srv/notes/2026/may.txt", "/2026/may.txt"],
    ["/srv/notes/2026/may.txt", "/srv/notes/2026/may.txt", "/srv/notes/2026/may.txt"],
    [".hidden file", "/srv/notes/.hidden file", "/.hidden file"],
  ])("the grant for %s has that file only, at the path that the tool was given", (path, file, at) => {
    expect(grantsOf(allowing(BY_PATH), { path })).toEqual([{ file, within: "/srv/notes", at }]);
  });

  test.each([
    ["may.txt", "/notes/may.txt"],
    ["/notes/2026/may.txt", "/notes/2026/may.txt"],
  ])("with 'at', the tool sees %s there, and so does the argument", (path, at) => {
    const file = at.replace("/notes", "/srv/notes");
    const rule = allowing({ ...BY_PATH, at: "/notes", write: true });
    expect(grantsOf(rule, { path })).toEqual([{ file, within: "/srv/notes", at, write: true }]);
    expect(decide(rule, { path: "/srv/notes/may.txt" })).toMatchObject({ decision: "deny" });
  });

  test.each<[string, JsonValue]>([
    ["is missing", {}],
    ["is not a text", { path: ["may.txt"] }],
    ["is empty", { path: "" }],
    ["is an absolute path elsewhere", { path: "/etc/passwd" }],
    ["only begins like the directory", { path: "/srv/notes-old/may.txt" }],
    ["is the directory", { path: "/srv/notes" }],
    ["climbs out", { path: "../secret.txt" }],
    ["climbs out of an absolute path", { path: "/srv/notes/../secret.txt" }],
    ["has a segment that leads nowhere", { path: "a/./may.txt" }],
    ["has an empty segment", { path: "a//may.txt" }],
    ["ends like a directory", { path: "2026/" }],
    ["has a backslash", { path: "..\\secret.txt" }],
    ["has a NUL", { path: "may.txt\0.png" }],
    ["has a line break", { path: "may\n.txt" }],
    ["has an encoded slash", { path: "..%2fsecret.txt" }],
    ["has half a surrogate pair", { path: "\ud800" }],
    ["is too long", { path: "a".repeat(5_000) }],
  ])("the call is denied if the argument %s", (_case, input) => {
    const decision = decide(allowing(BY_PATH), input);
    expect(decision).toMatchObject({
      decision: "deny",
      reason: expect.stringMatching(/^'notes' cannot grant anything to this call: the .*argument \/path/),
    });
    expect(decision).not.toHaveProperty("grant");
  });

  test("whatever the argument is, the file is below the directory of the rule", () => {
    const part = fc.constantFrom("/", "srv", "/srv/notes", "..", ".", "a", "%2e", "\\", "~", "\t", " ", "é");
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
        const [grant] = [grantsOf(allowing(BY_PATH), { path: parts.join("") })].flat() as [{ file?: string }];
        if (grant.file === undefined) return;
        expect(grant.file).toMatch(/^\/srv\/notes\/./);
        expect(grant.file).not.toMatch(/\/\.{0,2}(\/|$)/);
      }),
      { numRuns: 2_000 },
    );
  });

  test("two arguments name two files, or the same one twice", () => {
    const rule = allowing(
      { file: { argument: "/from" }, within: "/srv/notes" },
      { file: { argument: "/to" }, within: "/srv/notes", write: true },
    );
    const within = "/srv/notes";
    expect(grantsOf(rule, { from: "a", to: "b" })).toEqual([
      { file: "/srv/notes/a", within, at: "/a" },
      { file: "/srv/notes/b", within, at: "/b", write: true },
    ]);
    expect(grantsOf(rule, { from: "a", to: "a" })).toEqual([
      { file: "/srv/notes/a", within, at: "/a", write: true },
    ]);
  });
});

describe("a file in a rule", () => {
  test("a rule can name a file itself, and the directory that it is in", () => {
    const rule = allowing({ file: "/srv/notes/may.txt" }, { file: "/srv/x/y", within: "/srv", at: "/y" });
    expect(grantsOf(rule, {})).toEqual([
      { file: "/srv/notes/may.txt", at: "/may.txt" },
      { file: "/srv/x/y", within: "/srv", at: "/y" },
    ]);
  });

  test.each<[string, object[], RegExp]>([
    ["a relative path", [{ file: "may.txt" }], /absolute path as each 'file'/],
    ["the path of a directory", [{ file: "/srv/notes/" }], /path of a file as each 'file'/],
    ["a file outside of its directory", [{ file: "/srv/a", within: "/srv/b" }], /below its 'within'/],
    ["a relative directory", [{ ...BY_PATH, within: "notes" }], /absolute path as each 'within'/],
    [
      "a file at the path of a directory",
      [{ file: "/a", at: "/b/" }],
      /normalized|path of a file as the 'at'/,
    ],
    ["an argument without a directory", [{ file: { argument: "/path" } }], /'within' is missing/],
    ["an argument that is no pointer", [{ ...BY_PATH, file: { argument: "path" } }], /JSON pointer/],
    ["another member", [{ file: "/a", mode: 1 }], /unknown key 'mode'/],
    ["two files at one path", [{ file: "/a/x" }, { file: "/b/x" }], /two things at the same path/],
    [
      "a file in a granted directory",
      [{ directory: "/a" }, { file: "/b/x" }],
      /a file in a granted directory/,
    ],
  ])("a rule is refused with %s", (_case, fs, message) => {
    expect(() => new RulePolicy({ rules: [allowing(...fs)] })).toThrow(message);
  });
});
