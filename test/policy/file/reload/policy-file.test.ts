import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ConfigError } from "../../../../src/config/problem.ts";
import { type DispatchEvent, EventStream } from "../../../../src/engine/call/events.ts";
import { ToolDispatchEngine } from "../../../../src/engine/engine.ts";
import { CanonicalJson } from "../../../../src/json/canonical.ts";
import { openPolicyFile, type PolicyFile } from "../../../../src/policy/file/policy-file.ts";
import { allow, type PolicyDecision, type PolicySubject } from "../../../../src/policy/policy.ts";
import { strictest } from "../../../../src/policy/strictest.ts";
import { contextFor, hostTool } from "../../../engine/helpers.ts";

const TOOL: PolicySubject = { name: "tool", sideEffects: "read", sandboxes: ["host"], inputSchema: {} };
const tools = { subjects: [TOOL] };

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sandgate-policy-"));
  path = join(folder, "policy.yaml");
});
afterEach(() => rm(folder, { recursive: true }));

/** A policy whose rules have a name, so that decisions tell by which version they were made. */
function versionOf(name: string): string {
  // Their limits differ, so that each grants something else.
  const rules = ["a", "b", "c"].map(
    (rule, index) =>
      `  - { name: "${name} ${rule}", tools: ["*"], effect: allow, sandboxes: [host], limits: { wallTime: ${index + 1}s } }`,
  );
  return `rules:\n${rules.join("\n")}\n`;
}

async function replace(text: string): Promise<void> {
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}

function rulesOf(policy: PolicyFile): readonly string[] {
  const request = { callId: "c", sessionId: "s", input: {}, canonical: new CanonicalJson({}), tool: TOOL };
  expect(policy.explain(request).decision).toBe(policy.check(request));
  return policy.check(request).rules ?? [];
}

describe("a policy file", () => {
  test("is loaded again on request, and has the revision and the sources of its current version", async () => {
    await writeFile(path, versionOf("old"));
    await using policy = await openPolicyFile(path, { tools });
    const { revision, sources } = policy;
    await writeFile(path, versionOf("new"));
    expect(rulesOf(policy)).toEqual(["old a", "old b", "old c"]);
    expect(await policy.reload()).toBe(true);
    expect(rulesOf(policy)).toEqual(["new a", "new b", "new c"]);
    expect(policy.revision).not.toBe(revision);
    expect(policy.sources).not.toEqual(sources);
    expect(policy.loaded.warnings).toEqual([]);
  });

  test("needs the history that its current version needs", async () => {
    await writeFile(path, versionOf("old"));
    await using policy = await openPolicyFile(path, { tools });
    expect([policy.usesHistory, policy.trackedFields]).toEqual([false, undefined]);
    const rule = "{ tools: [tool], effect: allow, sandboxes: [host], when: { /to: { from: [user] } } }";
    await writeFile(path, `rules: [${rule}]`);
    await policy.reload();
    expect(policy.usesHistory).toBe(true);
    expect(policy.trackedFields).toBeDefined();
  });

  test.each([
    ["is not YAML", "rules: [", "p"],
    ["names rules wrongly", "rules: [{ tools: [tool], effect: alow }]", "did you mean 'allow'?"],
    [
      "breaks an invariant",
      `${versionOf("new")}invariants: [{ never: { sandboxes: [host] } }]`,
      "breaks 'invariant 1'",
    ],
  ])("stays as it was if the new one %s, and reports it", async (_, text, message) => {
    await writeFile(path, versionOf("old"));
    const errors: unknown[] = [];
    await using policy = await openPolicyFile(path, { tools, onError: (error) => errors.push(error) });
    const { revision } = policy;
    await writeFile(path, text);
    expect(await policy.reload()).toBe(false);
    expect(policy.revision).toBe(revision);
    expect(rulesOf(policy)).toEqual(["old a", "old b", "old c"]);
    expect(errors).toEqual([expect.any(ConfigError)]);
    expect(String(errors[0])).toContain(message);
    await writeFile(path, versionOf("new"));
    expect(await policy.reload()).toBe(true);
  });

  test("stays as it was if the new one cannot be prepared, whatever is thrown", async () => {
    await writeFile(path, versionOf("old"));
    const prepared: string[] = [];
    const errors: unknown[] = [];
    await using policy = await openPolicyFile(path, {
      onReload: async (loaded) => {
        prepared.push(loaded.policy.revision, policy.revision);
        throw new Error("the journal is full");
      },
      onError: (error) => {
        errors.push(error);
        throw new Error("the listener failed");
      },
    });
    const { revision } = policy;
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    await writeFile(path, versionOf("new"));
    expect(await policy.reload()).toBe(false);
    expect(prepared).toEqual([expect.not.stringMatching(revision), revision]);
    expect(errors).toEqual([new Error("the journal is full")]);
    expect(warned.mock.calls[0]?.[0]).toContain("the listener failed");
    expect(policy.revision).toBe(revision);
    vi.restoreAllMocks();
  });

  test("rejects when it is opened if it cannot be used", async () => {
    await expect(openPolicyFile(path)).rejects.toThrow(ConfigError);
  });

  test("warns of the process by default", async () => {
    await writeFile(path, versionOf("old"));
    await using policy = await openPolicyFile(path);
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    await rm(path);
    expect(await policy.reload()).toBe(false);
    expect(warned.mock.calls).toEqual([
      [expect.stringContaining("policy.yaml:1:1: the file cannot be read"), { code: "SANDGATE_POLICY_FILE" }],
    ]);
    vi.restoreAllMocks();
  });
});

describe("a watched policy file", () => {
  const changes: [string, () => Promise<void>][] = [
    ["is replaced by another file", () => replace(versionOf("new"))],
    ["is written in place", () => writeFile(path, versionOf("new"))],
    [
      "is removed and written again",
      async () => {
        await rm(path);
        await writeFile(path, versionOf("new"));
      },
    ],
  ];
  test.each(changes)("is loaded when it %s", async (_, change) => {
    await writeFile(path, versionOf("old"));
    await using policy = await openPolicyFile(path, { tools, watch: true });
    await change();
    await vi.waitFor(() => expect(rulesOf(policy)[0]).toBe("new a"), { timeout: 10_000 });
  });

  test("is loaded when a link on its path leads to another directory", async () => {
    for (const name of ["old", "new"]) {
      await mkdir(join(folder, name));
      await writeFile(join(folder, name, "policy.yaml"), versionOf(name));
    }
    await symlink("old", join(folder, "current"));
    await symlink(join("current", "policy.yaml"), path);
    await using policy = await openPolicyFile(path, { watch: true });
    expect(rulesOf(policy)[0]).toBe("old a");
    await symlink("new", join(folder, "next"));
    await rename(join(folder, "next"), join(folder, "current"));
    await vi.waitFor(() => expect(rulesOf(policy)[0]).toBe("new a"), { timeout: 10_000 });
  });

  test("stays as it was if it cannot be used, which is reported once", async () => {
    await writeFile(path, versionOf("old"));
    const errors: unknown[] = [];
    await using policy = await openPolicyFile(path, { watch: true, onError: (error) => errors.push(error) });
    await replace("rules: 1");
    await vi.waitFor(() => expect(errors).toHaveLength(1), { timeout: 10_000 });
    expect(rulesOf(policy)[0]).toBe("old a");
    await replace("rules: 1");
    await replace(versionOf("new"));
    await vi.waitFor(() => expect(rulesOf(policy)[0]).toBe("new a"), { timeout: 10_000 });
    expect(errors).toHaveLength(1);
  });

  test("decides on after it is closed, and is not loaded any more", async () => {
    await writeFile(path, versionOf("old"));
    const policy = await openPolicyFile(path, { watch: true });
    await policy[Symbol.asyncDispose]();
    await replace(versionOf("new"));
    expect(await policy.reload()).toBe(false);
    expect(rulesOf(policy)[0]).toBe("old a");
  });
});

test("No call is decided by two versions of a policy file that is swapped under load, and each names its revision", async () => {
  const SWAPS = 40;
  await writeFile(path, versionOf("version 0"));
  await using policy = await openPolicyFile(path, {
    tools: { subjects: [{ ...TOOL, sandboxes: ["host"] }] },
  });
  const names = new Map([[policy.revision, "version 0"]]);
  const slow = {
    check: async (): Promise<PolicyDecision> => {
      await new Promise(setImmediate);
      return allow({ sandbox: "host" });
    },
  };
  const events = new EventStream();
  const seen: DispatchEvent[] = [];
  events.on((event) => seen.push(event));
  const context = await contextFor([hostTool(() => 1)], { policy: strictest(policy, slow), events });
  const engine = new ToolDispatchEngine();
  let isSwapping = true;
  const load = async (): Promise<void> => {
    while (isSwapping) {
      await engine.dispatch({ id: "call", name: "tool", arguments: {} }, context);
    }
  };
  const callers = Array.from({ length: 16 }, load);
  for (let swap = 1; swap <= SWAPS; swap++) {
    await replace(versionOf(`version ${swap}`));
    expect(await policy.reload()).toBe(true);
    names.set(policy.revision, `version ${swap}`);
  }
  isSwapping = false;
  await Promise.all(callers);
  const decided = seen.flatMap((event) =>
    event.type === "tool.decided" || event.type === "tool.started" ? [event] : [],
  );
  expect(decided.length).toBeGreaterThan(1_000);
  expect(new Set(decided.map(({ policyRevision }) => policyRevision)).size).toBeGreaterThan(SWAPS / 2);
  for (const { rules, policyRevision = "" } of decided) {
    const name = names.get(policyRevision);
    expect(rules).toEqual([`${name} a`, `${name} b`, `${name} c`]);
  }
});
