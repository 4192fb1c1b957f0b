import { describe, expect, test } from "vitest";
import { defineTool } from "../../../../src/engine/tool.ts";
import { loadPolicyText } from "../../../../src/policy/file/load.ts";
import type { RuntimePolicy } from "../../../../src/policy/policy.ts";
import { RulePolicy } from "../../../../src/policy/rule/rule-policy.ts";
import { Redaction } from "../../../../src/redaction/redaction.ts";
import { dispatch, dispatchBody } from "../../../executor/harness.ts";
import { refusalOf, TestClient, WITH_EXECUTOR } from "../../harness.ts";
import { Browser, startConsole } from "../console.ts";

const ECHO = defineTool({
  name: "echo",
  description: "",
  inputSchema: { type: "object" },
  sideEffects: "none",
  host: (input, { onOutput }) => {
    onOutput("line\u202e\u0000");
    return input as object as never;
  },
});

const POLICY = new RulePolicy({
  rules: [
    {
      name: "small",
      tools: ["echo"],
      effect: "allow",
      sandboxes: ["host"],
      when: { "/size": { range: { max: 5 } } },
    },
    {
      name: "never",
      tools: ["echo"],
      effect: "deny",
      when: { "/size": { equals: 3 } },
      reason: "three is bad",
    },
  ],
});

async function detailsOf(
  input: object,
  policy: RuntimePolicy = POLICY,
): Promise<{ readonly text: string; readonly call: Record<string, unknown> }> {
  const server = await startConsole([ECHO], { ...WITH_EXECUTOR, policy, redaction: new Redaction() });
  const heidi = new TestClient(server, "heidi");
  await dispatch(server, dispatchBody({ name: "echo", arguments: input }), { headers: heidi.authorization });
  const browser = await Browser.operator(server);
  const { calls } = await browser.json<{ calls: { ref: string }[] }>("/v1/calls");
  const { text } = await browser.send("GET", `/v1/calls/${calls[0]?.ref}`);
  return { text, call: JSON.parse(text) as Record<string, unknown> };
}

describe("GET /v1/calls/{ref}", () => {
  test("says which rule allowed a call, and what came of it", async () => {
    const { call } = await detailsOf({ size: 1 });
    expect(call).toMatchObject({
      state: "completed",
      arguments: '{"size":1}',
      output: '{"size":1}',
      log: ["line\\u202e\\u0000"],
      receipt: { used: { wallTimeMs: expect.any(Number) } },
      explanation: {
        decision: "allow",
        near: [],
        policyRevision: POLICY.revision,
        rules: [{ name: "small", matched: true, because: ["every condition is met"] }],
        grant: expect.stringContaining('"sandbox":"host"'),
      },
    });
  });

  test("says which rule denied a call, and which rules came near", async () => {
    expect((await detailsOf({ size: 3 })).call).toMatchObject({
      state: "failed",
      code: "permission_denied",
      effect: "none",
      explanation: { decision: "deny", rules: [{ name: "never", because: ["every condition is met"] }] },
    });
    expect((await detailsOf({ size: 9 })).call).toMatchObject({
      explanation: {
        decision: "deny",
        rules: [],
        near: [{ rule: "small", missed: [expect.stringContaining("/size")] }],
      },
    });
  });

  test("suggests the smallest change of the policy that would allow a denied call", async () => {
    expect((await detailsOf({ size: 3 })).call["suggestion"]).toEqual({
      decision: "allow",
      text: "The rule 'never' denies the call: except exactly this call from it.",
      yaml: expect.stringContaining("not: { equals: { size: 3 } }"),
      where: "the policy in code",
      widens: ["the same call in other sessions"],
    });
    expect((await detailsOf({ size: 1 })).call).not.toHaveProperty("suggestion");
  });

  test("suggests nothing that would have a secret", async () => {
    const { text, call } = await detailsOf({ size: 3, token: "sk-ant-api03-0123456789abcdefghijklmnop" });
    expect(call["suggestion"]).toEqual({ withheld: expect.stringContaining("a secret would be part") });
    expect(text).not.toContain("0123456789abcdef");
  });

  test("names the file and the line of a rule that was loaded, but not its folder", async () => {
    const { policy } = await loadPolicyText(
      "rules:\n  - { name: never, tools: [echo], effect: deny }",
      "/etc/sandgate/policy.yaml",
      [],
    );
    const { text, call } = await detailsOf({ size: 1 }, policy);
    expect(call).toMatchObject({
      explanation: { rules: [{ name: "never", file: "policy.yaml", line: 2 }] },
      suggestion: { where: "policy.yaml:2, the end of the rules, after policy.yaml:2" },
    });
    expect(text).not.toContain("/etc");
  });

  test("shows the beginning of huge arguments, and no secrets", async () => {
    const { text, call } = await detailsOf({
      size: 1,
      key: `AKIA${"Q".repeat(16)}`,
      text: "\u202e".repeat(200_000),
    });
    expect(text.length).toBeLessThan(500_000);
    expect(text).not.toContain("\u202e");
    expect(text).not.toContain("AKIAQQQQ");
    expect(call).toMatchObject({
      state: "completed",
      explanation: { decision: "allow", rules: [{ because: [] }] },
    });
  });

  test("finds no call that the client must not know about, and none of another process", async () => {
    const server = await startConsole([ECHO]);
    const bob = new TestClient(server, "bob");
    await bob.dispatch(await bob.open(), [{ id: "c", name: "echo", arguments: {} }]);
    const { calls } = await (await Browser.operator(server)).json<{ calls: { ref: string }[] }>("/v1/calls");
    const ref = calls[0]?.ref ?? "";
    const get = async (of: "carol" | "bob" | "erin", path: string): Promise<string> => {
      const answer = await new TestClient(server, of).send("GET", `/v1/calls/${path}`);
      return answer.status === 200 ? "200" : refusalOf(answer);
    };
    expect(await get("erin", ref)).toBe("200");
    expect(await get("carol", ref)).toBe("404 not_found");
    expect(await get("bob", ref)).toBe("403 forbidden");
    for (const other of ["000000000000-1", `${ref}9`, "x", "%00", "..%2f"])
      expect(await get("erin", other)).toBe("404 not_found");
  });
});
