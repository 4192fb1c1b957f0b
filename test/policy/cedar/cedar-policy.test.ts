import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { CanonicalJson } from "../../../src/json/canonical.ts";
import type { JsonObject, JsonValue } from "../../../src/json/value.ts";
import type { CedarData } from "../../../src/policy/cedar/cedar-library.ts";
import { type CedarPolicyOptions, openCedarPolicy } from "../../../src/policy/cedar/cedar-policy.ts";
import { cedarSchemaText } from "../../../src/policy/cedar/cedar-schema.ts";
import { openCedarData } from "../../../src/policy/cedar/open-cedar-data.ts";
import type { PolicyDecision, PolicyRequest, PolicySubject } from "../../../src/policy/policy.ts";
import { RulePolicy } from "../../../src/policy/rule/rule-policy.ts";
import { ShadowPolicy } from "../../../src/policy/shadow-policy.ts";
import { strictest } from "../../../src/policy/strictest.ts";

const transfer: PolicySubject = {
  name: "transfer",
  sideEffects: "write",
  tags: ["money"],
  sandboxes: ["host", "quickjs"],
  inputSchema: {
    type: "object",
    properties: {
      to: { type: "string" },
      cents: { type: "integer" },
      rate: { type: "number" },
      note: { anyOf: [{ type: "string" }, { type: "null" }], default: null },
      labels: { type: "array", items: { $ref: "#/$defs/label" } },
      anything: {},
      node: { $ref: "#/$defs/node" },
    },
    required: ["to", "cents", "note"],
    $defs: {
      label: { type: "string" },
      node: { type: "object", properties: { next: { $ref: "#/$defs/node" } } },
    },
  },
};

const GRANTS: CedarPolicyOptions["grants"] = {
  default: { sandboxes: ["quickjs", "host"], limits: { wallTimeMs: 5_000 } },
  trusted: { sandboxes: ["host"], limits: { wallTimeMs: 60_000, memoryBytes: 1_000_000 } },
};

function open(policies: string, options: Partial<CedarPolicyOptions> = {}) {
  return openCedarPolicy({ policies, tools: [transfer], grants: GRANTS, ...options });
}

function request(input: JsonValue, others: Partial<PolicyRequest> = {}): PolicyRequest {
  return {
    callId: "c1",
    sessionId: "s1",
    input,
    canonical: new CanonicalJson(input),
    tool: transfer,
    ...others,
  };
}

const small: JsonObject = { to: "ann", cents: 100, note: null };

async function decide(policies: string, input: JsonValue = small, others: Partial<PolicyRequest> = {}) {
  return (await open(policies)).check(request(input, others));
}

const PERMIT = "permit (principal, action, resource);";

describe("a Cedar policy", () => {
  test("allows what a permit allows, under its grant", async () => {
    const decision = await decide(
      '@id("small") permit (principal, action, resource) when { context.input.cents < 500 };',
    );
    expect(decision).toMatchObject({
      decision: "allow",
      rules: ["small"],
      grant: { sandbox: "quickjs", limits: { wallTimeMs: 5_000 } },
      sandboxes: ["quickjs", "host"],
    });
  });

  test("denies what no permit allows, and what a forbid denies", async () => {
    expect(await decide("")).toMatchObject({ decision: "deny", reason: "no Cedar policy permits this call" });
    const forbid = '@id("frozen") @reason("the books are closed") forbid (principal, action, resource);';
    expect(await decide(PERMIT + forbid)).toEqual({
      decision: "deny",
      rules: ["frozen"],
      reason: "'frozen' denies this call: the books are closed",
    });
  });

  test("asks if one permit asks, although another allows the call", async () => {
    const asks = '@id("asks") @ask("Pay?") @remember("session") permit (principal, action, resource);';
    expect(await decide(PERMIT + asks)).toMatchObject({
      decision: "ask",
      question: "Pay?",
      remember: "session",
      rules: ["policy 1", "asks"],
      grant: { sandbox: "quickjs" },
    });
  });

  test("grants what all permits that apply grant", async () => {
    const trusted = '@grant("trusted") permit (principal, action, resource);';
    expect(await decide(PERMIT + trusted)).toMatchObject({
      grant: { sandbox: "host", limits: { wallTimeMs: 5_000, memoryBytes: 1_000_000 } },
    });
  });

  test("sees the principal with its roles and attributes, the tool, the session and the workspace", async () => {
    const policy = `permit (principal in Sandgate::Role::"payer", action == Sandgate::Action::"transfer", resource)
      when { principal has kind && principal.kind == "agent" && principal.getTag("team") == "books" && principal.getTag("level") == "3"
        && resource.sideEffects == "write" && resource.tags.contains("money") && resource.sandboxes.contains("host")
        && context.sessionId == "s1" && context has workspace && context.workspace like "/work/*" };`;
    const tagged = policy.replaceAll(/principal\.getTag\("(\w+)"\)/g, 'principal.hasTag("$1") && $&');
    const principal = {
      id: "ann",
      kind: "agent",
      roles: ["payer"],
      attributes: { team: "books", level: 3 },
    } as const;
    expect(await decide(tagged, small, { principal, workspace: "/work/a" })).toMatchObject({
      decision: "allow",
    });
    for (const others of [
      {},
      { principal },
      { principal: { ...principal, roles: [] }, workspace: "/work/a" },
      { principal: { ...principal, attributes: { team: "books" } }, workspace: "/work/a" },
    ])
      expect(await decide(tagged, small, others)).toMatchObject({ decision: "deny" });
  });

  test("gives a call without a principal the empty id, which no principal has", async () => {
    const policy = 'permit (principal == Sandgate::Principal::"", action, resource);';
    expect(await decide(policy)).toMatchObject({ decision: "allow" });
    expect(await decide(policy, small, { principal: { id: "ann", kind: "user" } })).toMatchObject({
      decision: "deny",
    });
  });

  test("compares arguments of every type that Cedar has", async () => {
    const policy = `permit (principal, action, resource) when {
      context.input has rate && context.input.rate == decimal("1.25")
      && context.input has labels && context.input.labels.containsAll(["a", "b"])
      && context.input has note && context.input.note == "hello" };`;
    const input = { to: "ann", cents: 1, rate: 1.25, labels: ["b", "a", "b"], note: "hello" };
    expect(await decide(policy, input)).toMatchObject({ decision: "allow" });
    expect(await decide(policy, { ...input, note: null })).toMatchObject({ decision: "deny" });
  });

  test("denies arguments that Cedar cannot represent exactly", async () => {
    const inputs: JsonValue[] = [
      { ...small, rate: 0.123456 },
      { ...small, rate: 1e300 },
      { ...small, cents: 2 ** 60 },
      { ...small, to: "\ud800" },
      { ...small, labels: [{ __extn: { fn: "ip", arg: "1.2.3.4" } }] },
      { ...small, to: { __entity: { type: "Sandgate::Role", id: "payer" } } },
      [1],
      null,
    ];
    for (const input of inputs)
      expect(await decide(PERMIT, input)).toMatchObject({
        decision: "deny",
        reason: expect.stringMatching(/^Cedar cannot decide on these arguments/),
      });
  });

  test("does not see what the schema gives no type, which policies then cannot name", async () => {
    const input = { ...small, anything: { __entity: 1 }, node: { next: {} }, unknown: [null] };
    expect(await decide(PERMIT, input)).toMatchObject({ decision: "allow" });
    await expect(
      open(
        "forbid (principal, action, resource) when { context.input has anything && context.input.anything == 1 };",
      ),
    ).rejects.toMatchObject({ code: "invalid_config" });
  });

  test("denies a call if a forbid or a permit that asks fails, which Cedar itself skips", async () => {
    const overflow = "when { context.input.cents + 9223372036854775807 > 0 };";
    for (const failing of [
      `@id("fails") forbid (principal, action, resource) ${overflow}`,
      `@id("fails") @ask("Sure?") permit (principal, action, resource) ${overflow}`,
    ])
      expect(await decide(PERMIT + failing)).toEqual({
        decision: "deny",
        rules: ["fails"],
        reason: "'fails' could not be evaluated",
      });
    expect(
      await decide(`${PERMIT}@id("fails") permit (principal, action, resource) ${overflow}`),
    ).toMatchObject({
      decision: "allow",
    });
  });

  test("denies calls of tools that it does not know, or that have another input schema now", async () => {
    const policy = await open(PERMIT);
    for (const tool of [
      { ...transfer, name: "other" },
      { ...transfer, inputSchema: { type: "object", properties: { to: { type: "integer" } } } },
    ])
      expect(policy.check(request(small, { tool }))).toEqual({
        decision: "deny",
        reason: "the tool is not in the schema of the Cedar policies",
      });
  });

  test("decides further calls after a request that it could not read", async () => {
    const policy = await open(PERMIT);
    let deep: JsonValue = "x";
    for (let level = 0; level < 5_000; level++) deep = [deep];
    for (const input of [
      { ...small, labels: deep },
      { ...small, to: "x".repeat(1_000_000) },
    ])
      policy.check(request(input));
    expect(policy.check(request(small))).toMatchObject({ decision: "allow" });
  });

  test("keeps policies apart that are open at once", async () => {
    const policies = await Promise.all([open(PERMIT), open(""), open(PERMIT)]);
    const decisions = policies.map((policy) => (policy.check(request(small)) as PolicyDecision).decision);
    expect(decisions).toEqual(["allow", "deny", "allow"]);
    expect(policies[0]?.revision).toBe(policies[2]?.revision);
    expect(policies[0]?.revision).not.toBe(policies[1]?.revision);
  });

  const ANN = { id: "ann", kind: "user" } as const;

  test.each([
    ["a forbid for a role", '@id("p") forbid (principal in Sandgate::Role::"intern", action, resource);'],
    ["a forbid for a kind", '@id("p") forbid (principal, action, resource) when { principal has kind };'],
    [
      "a permit with @ask for a role",
      '@id("p") @ask("?") permit (principal in Sandgate::Role::"intern", action, resource);',
    ],
  ])("denies a call without a principal if %s could apply", async (_, policy) => {
    const without = await open(PERMIT + policy);
    expect(without.check(request(small))).toEqual({
      decision: "deny",
      rules: ["p"],
      reason: "'p': it depends on the principal, and the call has none",
    });
    expect(without.explain(request(small)).rules[1]).toMatchObject({
      name: "p",
      matched: "unclear",
      why: "it depends on the principal, and the call has none",
    });
    const elsewhere = await open(PERMIT + policy.replace(/;$/, ' when { context.sessionId == "s2" };'));
    expect(elsewhere.check(request(small))).toMatchObject({ decision: "allow" });
  });

  test("lets a forbid for a role not apply to a principal without it", async () => {
    const policies = `${PERMIT} forbid (principal in Sandgate::Role::"intern", action, resource);`;
    const check = async (roles: readonly string[]) =>
      (await decide(policies, small, { principal: { ...ANN, roles } })).decision;
    expect(await check(["clerk"])).toBe("allow");
    expect(await check(["clerk", "intern"])).toBe("deny");
  });

  test("does not ask for the workspace unless a policy reads it", async () => {
    const noWorkspace = Object.defineProperty({ ...request(small) }, "workspace", {
      get: () => {
        throw new Error("not recorded");
      },
    });
    expect((await open(PERMIT)).check(noWorkspace)).toMatchObject({ decision: "allow" });
    for (const condition of [
      "context has workspace",
      'context has workspace && context["work\\u{73}pace"] == "/a"',
      "context == context",
    ]) {
      const policy = await open(`${PERMIT} permit (principal, action, resource) when { ${condition} };`);
      expect(() => policy.check(noWorkspace)).toThrow("not recorded");
    }
  });

  test("is data from which it can be opened again", async () => {
    const policy = await open(PERMIT);
    const [source = ""] = policy.sources;
    expect(policy.sources).toHaveLength(1);
    expect(createHash("sha256").update(source).digest("hex")).toBe(policy.revision);
    const again = await openCedarData(JSON.parse(source) as CedarData);
    expect(again.revision).toBe(policy.revision);
    expect(again.check(request(small))).toEqual(policy.check(request(small)));
  });

  test("is tried out beside policies of rules", async () => {
    const seen: unknown[] = [];
    const rules = new RulePolicy({ rules: [{ tools: ["*"], effect: "allow", sandboxes: ["quickjs"] }] });
    const shadow = new ShadowPolicy(rules, await open(""), ({ changes }) => seen.push(changes));
    expect(shadow.check(request(small))).toMatchObject({ decision: "allow" });
    expect(
      new ShadowPolicy(await open(""), rules, ({ changes }) => seen.push(changes)).explain,
    ).toBeDefined();
    expect(seen).toEqual([["allow → deny"]]);
  });

  test("warns of a role that a single policy names and that is almost another one", async () => {
    const forRole = (role: string): string =>
      `forbid (principal in Sandgate::Role::"${role}", action, resource);`;
    const warnings = async (...roles: string[]) =>
      (await open([PERMIT, ...roles.map(forRole)].join("\n"))).warnings.map(
        ({ line, severity, message }) => `${line} ${severity}: ${message}`,
      );
    expect(await warnings("contractor", "contracter", "contractor")).toEqual([
      "3 warning: only this policy names the role 'contracter'; did you mean 'contractor'?",
    ]);
    expect(await warnings("Intern", "intern")).toEqual([
      "3 warning: only this policy names the role 'intern'; did you mean 'Intern'?",
    ]);
    expect(await warnings("intern", "payer", "auditor")).toEqual([]);
    expect(await warnings("reader", "leader", "reader", "leader")).toEqual([]);
    const nested = 'unless { principal in [Sandgate::Role::"intern", Sandgate::Role::"intrn"] };';
    const { warnings: found } = await open(
      `${PERMIT}\n${forRole("intern")}\nforbid (principal, action, resource) ${nested}`,
    );
    expect(found).toMatchObject([{ line: 3, message: expect.stringContaining("did you mean 'intern'?") }]);
  });

  test("warns of a tag that no tool has", async () => {
    const tagged = (test: string): string =>
      `${PERMIT}\nforbid (principal, action, resource) when { ${test} };`;
    const warnings = async (test: string) => (await open(tagged(test))).warnings;
    expect(await warnings('resource.tags.contains("mony")')).toMatchObject([
      {
        line: 2,
        column: 1,
        severity: "warning",
        message: "no tool has the tag 'mony'; did you mean 'money'?",
      },
    ]);
    expect(await warnings('resource.tags.containsAny(["money", "gold"])')).toHaveLength(1);
    expect(await warnings('resource.tags.contains("money") || ["a"].contains("b")')).toEqual([]);
  });

  test("explains which policies matched, and from which each part of the grant comes", async () => {
    const policies = `${PERMIT}
      @id("never") permit (principal, action, resource) when { context.input.cents < 0 };
      @id("fails") permit (principal, action, resource) when { context.input.cents + 9223372036854775807 > 0 };
      @id("trusted") @grant("trusted") permit (principal, action, resource);`;
    const policy = await open(policies);
    const explanation = policy.explain(request(small));
    expect(explanation).toEqual({
      decision: policy.check(request(small)),
      rules: [
        { name: "policy 1", effect: "allow", matched: "yes", why: "its scope and its conditions are met" },
        { name: "never", effect: "allow", matched: "no", why: "its scope or its conditions are not met" },
        { name: "fails", effect: "allow", matched: "unclear", why: "its evaluation failed" },
        { name: "trusted", effect: "allow", matched: "yes", why: "its scope and its conditions are met" },
      ],
      sandbox: "policy 1",
      limits: { wallTimeMs: "policy 1", memoryBytes: "trusted" },
      capabilities: {},
      withheld: {},
    });
    expect(JSON.stringify(policy.explain(request(small)))).toBe(JSON.stringify(explanation));
  });

  test("explains a denial, and which permits it overrules", async () => {
    const policy = await open(`${PERMIT} @id("frozen") forbid (principal, action, resource);`);
    expect(policy.explain(request(small))).toMatchObject({
      decision: { decision: "deny" },
      rules: [
        { name: "policy 1", matched: "yes" },
        { name: "frozen", effect: "deny", matched: "yes" },
      ],
      limits: {},
    });
    expect(policy.explain(request([1])).rules).toMatchObject([{ matched: "no" }, { matched: "no" }]);
  });

  test("narrows other policies", async () => {
    const policy = strictest(await open(PERMIT), await open("forbid (principal, action, resource);"));
    expect(await policy.check(request(small))).toMatchObject({ decision: "deny" });
  });
});

describe("the text of a Cedar policy", () => {
  async function problemsOf(policies: string): Promise<readonly string[]> {
    return open(policies, { file: "p.cedar" }).then(
      ({ warnings }) => warnings.map(({ line, column, message }) => `${line}:${column} warning: ${message}`),
      (error) => error.problems.map(({ line, column, message }: never) => `${line}:${column} ${message}`),
    );
  }

  test("is refused with the position of what is wrong, in any language", async () => {
    expect(await problemsOf("// é\npermit (principal, action, resource) when { 1 + };")).toEqual([
      expect.stringMatching(/^2:49 .*unexpected token/),
    ]);
    expect(
      await problemsOf(`${PERMIT}\npermit (principal, action == Sandgate::Action::"transfr", resource);`),
    ).toContainEqual(expect.stringMatching(/^2:\d+ .*did you mean `Sandgate::Action::"transfer"`/));
    expect(await problemsOf("permit (principal == ?principal, action, resource);")).toEqual([
      "1:22 templates are unsupported: write a policy for each principal",
    ]);
  });

  test("is refused with annotations that have no effect, so that a misspelt one allows nothing", async () => {
    expect(await problemsOf(`${PERMIT}\n@aks("Sure?") ${PERMIT}`)).toEqual([
      "2:1 unknown annotation @aks; did you mean 'ask'?",
    ]);
    expect(await problemsOf(`@ask("") ${PERMIT}`)).toEqual([
      "1:1 @ask must have the question that a person is asked",
    ]);
    expect(await problemsOf(`@ask ${PERMIT}`)).toEqual([
      "1:1 @ask must have the question that a person is asked",
    ]);
    expect(await problemsOf(`@remember("session") ${PERMIT}`)).toEqual([
      '1:1 @remember must be "session", on a permit with @ask',
    ]);
    expect(await problemsOf(`@grant("trustd") ${PERMIT}`)).toEqual([
      "1:1 there is no grant 'trustd'; did you mean 'trusted'?",
    ]);
    expect(await problemsOf('@ask("x") forbid (principal, action, resource);')).toEqual([
      "1:1 only a permit can have the annotation @ask",
    ]);
    expect(await problemsOf(`@id("a") ${PERMIT} @id("a") ${PERMIT}`)).toEqual([
      "1:48 the id 'a' is already used by another policy",
    ]);
  });

  test("is refused with a tool that there is not, which no call would ever match", async () => {
    expect(await problemsOf('forbid (principal, action, resource == Sandgate::Tool::"transfr");')).toEqual([
      "1:1 there is no tool 'transfr'; did you mean 'transfer'?",
    ]);
    const set = '[Sandgate::Tool::"transfer", Sandgate::Tool::"pay"]';
    expect(
      await problemsOf(`forbid (principal, action, resource) when { ${set}.contains(resource) };`),
    ).toEqual(["1:1 there is no tool 'pay'"]);
  });

  test("names more than ten policies in their order", async () => {
    const text = Array.from(
      { length: 12 },
      (_, n) => `permit (principal, action, resource) when { context.input.cents == ${n} };`,
    );
    expect(await decide(text.join("\n"), { ...small, cents: 10 })).toMatchObject({ rules: ["policy 11"] });
  });

  test("warns of a policy that can never apply", async () => {
    expect(
      await problemsOf("permit (principal, action, resource) when { context.input.cents < 1 && false };"),
    ).toEqual([expect.stringMatching(/^1:1 warning: .*impossible/)]);
  });
});

test("a grant that is invalid is refused", async () => {
  await expect(open(PERMIT, { grants: { default: { sandboxes: ["hosts"] as never } } })).rejects.toThrow(
    /sandboxes/,
  );
  await expect(open(PERMIT, { grants: {} })).rejects.toThrow(/there is no grant 'default'/);
});

test("the schema of the tools can be written out for editors", async () => {
  const text = await cedarSchemaText([transfer]);
  expect(text).toContain("namespace Sandgate");
  expect(text).toMatch(/action "transfer" appliesTo/);
  expect(text).toContain("cents");
});

describe("declared paths and URLs", () => {
  const read: PolicySubject = {
    name: "read",
    sideEffects: "read",
    sandboxes: ["host"],
    inputSchema: {
      type: "object",
      properties: { path: { type: "string" }, url: { type: "string" } },
      additionalProperties: false,
    },
    access: { paths: [{ argument: "/path", access: "read" }], urls: [{ argument: "/url" }] },
  };
  const policies = `
    @id("all") permit (principal, action, resource);
    @id("no keys") forbid (principal, action, resource)
    when { context has input && context.input has path && context.input.path like "private/*" };
    @id("no admin") forbid (principal, action, resource)
    when { context has input && context.input has url && context.input.url like "https://a.example/admin*" };
    @id("ask") @ask("Really?") permit (principal, action, resource)
    when { context has input && context.input has path && context.input.path like "/work/plans/*" };`;

  test("are compared in each spelling: a policy that denies or asks applies to all of them", async () => {
    const policy = await open(policies, { tools: [read] });
    const decide = (input: JsonObject, path?: string): string =>
      policy.check(
        request(input, {
          tool: read,
          workspace: "/work",
          ...(path !== undefined && { paths: [{ argument: "/path", path }] }),
        }),
      ).decision;
    expect(decide({ path: "open.txt" })).toBe("allow");
    for (const path of ["private/key", "/work/private/key", "./private/key", "x/../private/key"])
      expect(decide({ path })).toBe("deny");
    expect(decide({ path: "notes.md" }, "private/key")).toBe("deny");
    expect(decide({ path: "plans/a" })).toBe("ask");
    expect(decide({ url: "https://a.example/open" })).toBe("allow");
    for (const url of ["HTTPS://A.example/admin", "https://a.example:443/%61dmin"])
      expect(decide({ url })).toBe("deny");
  });

  test("a permit holds only if each place where a path leads is permitted", async () => {
    const only = `permit (principal, action, resource)
      when { context has input && context.input has path && context.input.path like "src/*" };`;
    const policy = await open(only, { tools: [read] });
    const decide = (path: string, found: string): string =>
      policy.check(
        request({ path }, { tool: read, workspace: "/work", paths: [{ argument: "/path", path: found }] }),
      ).decision;
    expect(decide("src/a", "src/a")).toBe("allow");
    expect(decide("src/link", "private/key")).toBe("deny");
  });
});
