import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CanonicalJson } from "../../../src/json/canonical.ts";
import type { JsonValue } from "../../../src/json/value.ts";
import type { GrantOptions, RuleCapabilities } from "../../../src/policy/grant/execution-grant.ts";
import { isWithinOrigin, parseOrigin } from "../../../src/policy/grant/net-grant.ts";
import {
  allow,
  ask,
  checkDecision,
  type PolicyDecision,
  type PolicyRequest,
  type PolicySubject,
} from "../../../src/policy/policy.ts";
import type { PolicyRule } from "../../../src/policy/rule/rule.ts";
import { RulePolicy } from "../../../src/policy/rule/rule-policy.ts";

const FETCH: PolicySubject = { name: "fetch", sideEffects: "read", sandboxes: ["quickjs"], inputSchema: {} };
const WITHIN = ["https://*.example.com", "http://10.0.0.1:8080"];
const BY_URL: RuleCapabilities = { net: [{ argument: "/url", within: WITHIN }] };

function allowing(capabilities: RuleCapabilities, name = "web"): PolicyRule {
  return { name, tools: ["*"], effect: "allow", sandboxes: ["quickjs"], capabilities };
}

function decide(rules: readonly PolicyRule[], input: JsonValue, workspace?: string): PolicyDecision {
  const call = { callId: "c", sessionId: "s", input, canonical: new CanonicalJson(input), tool: FETCH };
  return new RulePolicy({ rules }).check({ ...call, ...(workspace !== undefined && { workspace }) });
}

describe("an origin out of an argument", () => {
  test.each([
    ["https://api.example.com/v1?q=1", "https://api.example.com"],
    ["https://api.example.com", "https://api.example.com"],
    ["https://API.example.com:443/x", "https://api.example.com"],
    ["http://10.0.0.1:8080/x", "http://10.0.0.1:8080"],
  ])("the grant for %s has that origin only", (url, origin) => {
    expect(decide([allowing(BY_URL)], { url })).toMatchObject({
      decision: "allow",
      grant: { capabilities: { net: [origin] } },
    });
  });

  test.each<[string, JsonValue]>([
    ["is missing", {}],
    ["is not a text", { url: ["https://api.example.com/"] }],
    ["is not a URL", { url: "api.example.com" }],
    ["has another scheme", { url: "ftp://api.example.com/" }],
    ["has an origin that the rule does not have", { url: "https://example.com/" }],
    ["has another port", { url: "https://api.example.com:8443/" }],
    ["names a user", { url: "https://api.example.com@evil.test/" }],
    ["has a backslash", { url: "https://evil.test\\.example.com/" }],
    ["has a query directly after the host", { url: "https://evil.test?.example.com/" }],
    ["has a character that URL parsers remove", { url: "https://evil.te\tst/.example.com" }],
    ["has a host in other letters", { url: "https://api.ex\u0430mple.com/" }],
    ["has a host that ends with a dot", { url: "https://api.example.com./" }],
    ["has the port 0", { url: "https://api.example.com:0/" }],
    ["has white space around it", { url: " https://api.example.com/" }],
    ["has no slashes after the scheme", { url: "https:api.example.com/" }],
  ])("the call is denied if the argument %s", (_case, input) => {
    const decision = decide([allowing(BY_URL)], input);
    expect(decision).toMatchObject({
      decision: "deny",
      reason: expect.stringMatching(/^'web' cannot grant anything to this call: the .*argument \/url/),
      rules: ["web"],
    });
    expect(decision).not.toHaveProperty("grant");
  });

  test("whatever the argument is, the grant is the URL's own origin, and within those of the rule", () => {
    const part = fc.constantFrom(
      "https://",
      "http:",
      "//",
      "a.example.com",
      "evil.test",
      ":0",
      "@",
      ":443",
      "\\",
      "?",
      "#",
      "/",
      "..",
      "%2e",
      "\t",
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
        const url = parts.join("");
        const decision = decide([allowing(BY_URL)], { url });
        if (decision.decision !== "allow") return;
        const [origin] = decision.grant.capabilities.net as readonly [string];
        expect(new URL(url).origin).toBe(origin);
        expect(WITHIN.some((outer) => isWithinOrigin(parseOrigin(origin), parseOrigin(outer)))).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  test("one call's origin is not used for the next, and other rules restrict it", () => {
    const policy = new RulePolicy({
      rules: [allowing(BY_URL), allowing({ net: ["https://a.example.com", "https://b.example.com"] }, "few")],
    });
    const netOf = (host: string): unknown => {
      const input = { url: `https://${host}.example.com/` };
      const call = { callId: "c", sessionId: "s", input, canonical: new CanonicalJson(input), tool: FETCH };
      const decision = policy.check(call);
      return decision.decision === "allow" && decision.grant.capabilities.net;
    };
    expect([netOf("a"), netOf("b"), netOf("c"), netOf("a")]).toEqual([
      ["https://a.example.com"],
      ["https://b.example.com"],
      undefined,
      ["https://a.example.com"],
    ]);
  });
});

describe("the workspace", () => {
  const inWorkspace = (workspace: true | string): PolicyRule =>
    allowing({ fs: [{ workspace, at: "/work", write: true }] });

  test("a rule can grant the session's workspace, or a directory in it", () => {
    const granted = (workspace: true | string): PolicyDecision =>
      decide([inWorkspace(workspace)], {}, "/home/ann/project");
    expect(granted(true)).toMatchObject({
      grant: { capabilities: { fs: [{ directory: "/home/ann/project", at: "/work", write: true }] } },
    });
    expect(granted("src/generated")).toMatchObject({
      grant: { capabilities: { fs: [{ directory: "/home/ann/project/src/generated" }] } },
    });
  });

  test("a call of a session without a workspace is denied", () => {
    expect(decide([inWorkspace(true)], {})).toMatchObject({
      decision: "deny",
      reason: "'web' cannot grant anything to this call: the session has no workspace",
    });
  });

  test.each([
    "",
    "/etc",
    "..",
    "a/../b",
    "a//b",
    "./a",
    "a/",
    "a\\b",
    false,
  ])("%j is not a directory in the workspace", (workspace) => {
    expect(() => new RulePolicy({ rules: [inWorkspace(workspace as string)] })).toThrow(
      /directory in the workspace/,
    );
  });
});

test.each<[unknown, RegExp]>([
  [{ argument: "url", within: WITHIN }, /\/net\/0\/argument must be a JSON pointer/],
  [{ argument: "/url", within: [] }, /\/within must not be empty/],
  [{ argument: "/url", within: ["https://x:99999"] }, /\/within\/0 .* port from 1 to 65535/],
  [{ argument: "/url" }, /'within' is missing/],
])("%j is not a template of an origin", (grant, message) => {
  const rule = allowing({ net: [grant as string] });
  expect(() => new RulePolicy({ rules: [rule] })).toThrow(message);
});

describe("A policy in code", () => {
  const requestOf = (input: JsonValue, workspace?: string): PolicyRequest => ({
    callId: "c",
    sessionId: "s",
    input,
    canonical: new CanonicalJson(input),
    tool: FETCH,
    ...(workspace !== undefined && { workspace }),
  });
  const grant: GrantOptions = {
    sandbox: "quickjs",
    capabilities: {
      fs: [
        { workspace: "src", at: "/src" },
        { file: { argument: "/path" }, within: "/srv/notes", write: true },
      ],
      net: [{ argument: "/url", within: ["https://*.example.com"] }],
    },
  };
  const input = { path: "may.txt", url: "https://a.example.com/x" };

  test.each([
    ["allows", (request: PolicyRequest) => allow(grant, { request })],
    ["asks about", (request: PolicyRequest) => ask("Really?", { grant, request })],
  ])("%s a call with the capabilities that its arguments name", (_, decideOn) => {
    const decision = decideOn(requestOf(input, "/home/ann"));
    expect(decision).not.toHaveProperty("request");
    expect(decision.grant?.capabilities).toEqual({
      fs: [
        { directory: "/home/ann/src", at: "/src" },
        { file: "/srv/notes/may.txt", within: "/srv/notes", at: "/may.txt", write: true },
      ],
      net: ["https://a.example.com"],
    });
    expect(checkDecision(decision)).toBe(decision);
  });

  test.each<[string, JsonValue, string | undefined]>([
    ["an argument is missing", { url: input.url }, "/w"],
    ["a path leads out", { ...input, path: "../may.txt" }, "/w"],
    ["a path is ambiguous", { ...input, path: "a//b" }, "/w"],
    ["an origin is another one", { ...input, url: "https://evil.test" }, "/w"],
    ["there is no workspace", input, undefined],
  ])("throws, which denies the call, if %s", (_, given, workspace) => {
    expect(() => allow(grant, { request: requestOf(given, workspace) })).toThrow(
      expect.objectContaining({ name: "TemplateRefusal" }),
    );
  });

  test.each<[string, unknown]>([
    ["without the request", undefined],
    ["for a path out of the workspace", { fs: [{ workspace: "../../etc" }] }],
    ["for a workspace that is false", { fs: [{ workspace: false }] }],
    ["for a relative directory", { fs: [{ file: { argument: "/path" }, within: "notes" }] }],
    ["for a place that is not normal", { fs: [{ file: { argument: "/path" }, within: "/n", at: "/a/.." }] }],
    ["for what is no pointer", { fs: [{ file: { argument: "path" }, within: "/n" }] }],
    ["with a misspelt member", { fs: [{ file: { argument: "/path" }, within: "/n", wirte: true }] }],
    ["for no origins", { net: [{ argument: "/url", within: [] }] }],
    ["for a text as origins", { net: [{ argument: "/url", within: "https://a.example.com" }] }],
    ["for lists that are none", { fs: "/", net: {} }],
  ])("cannot grant anything %s", (_, capabilities) => {
    const options = { ...grant, ...(capabilities !== undefined && { capabilities }) } as GrantOptions;
    const request = capabilities === undefined ? {} : { request: requestOf(input, "/w") };
    expect(() => allow(options, request)).toThrow(TypeError);
  });

  test("cannot have a grant that was not filled in, whatever else its decision has", () => {
    const decision = { decision: "allow", grant, request: requestOf(input, "/w") };
    expect(() => checkDecision(decision as unknown as PolicyDecision)).toThrow(TypeError);
  });
});
