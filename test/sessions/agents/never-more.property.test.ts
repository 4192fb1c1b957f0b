import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/json/value.ts";
import { allow, HostPolicy, type PolicyRequest } from "../../../src/policy/policy.ts";
import { BASE_MODES } from "../../../src/sessions/levels.ts";
import type { Session } from "../../../src/sessions/session.ts";
import { MemorySessionStore } from "../../../src/sessions/store/memory-store.ts";
import { SqliteSessionStore } from "../../../src/sessions/store/sqlite-store.ts";
import type { SandboxMode } from "../../../src/tool/sandbox-mode.ts";
import { answerTo, call, tool } from "../harness.ts";
import { agentSessions, run } from "./harness.ts";

const folder = mkdtempSync(join(tmpdir(), "agents-"));
afterAll(() => rmSync(folder, { recursive: true }));

const NAMES = ["look", "read", "write", "shell", "rm", "note"] as const;
const TOOLS = [
  tool("look", "none"),
  tool("read", "read"),
  tool("write", "write"),
  tool("shell", "execute", undefined, { confirm: "prompt" }),
  tool("rm", "destructive", undefined, { confirm: "always" }),
  tool("note", "write", undefined, { tags: ["memory"] }),
];

const mode = fc.oneof(
  fc.constantFrom(...BASE_MODES),
  fc.record({
    base: fc.constantFrom(...BASE_MODES),
    tools: fc.dictionary(fc.constantFrom(...NAMES), fc.constantFrom("auto", "prompt", "deny" as const)),
  }),
);
const subset = fc.option(fc.subarray([...NAMES]), { nil: undefined });

/** What becomes of a call that a person, if one is asked, denies: the later in the list, the stricter. */
const OUTCOMES = ["runs", "user_denied", "permission_denied", "not_found"];
async function outcomesIn(session: Session): Promise<readonly number[]> {
  const ranks: number[] = [];
  for (const name of NAMES) {
    const { success, error } = await run(session, name);
    const rank = OUTCOMES.indexOf(success ? "runs" : String(error?.code));
    expect(rank).toBeGreaterThanOrEqual(0);
    ranks.push(rank);
  }
  return ranks;
}

describe("a child never has more than its parent", () => {
  test("in tools and mode, whatever the modes of both become meanwhile", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({ mode, tools: subset, kind: fc.constantFrom("main", "worker" as const) }),
        fc.record({ tools: subset, mode, later: fc.option(mode, { nil: undefined }) }),
        async (above, below) => {
          let ofChild: readonly number[] = [];
          let ofParent: readonly number[] = [];
          let shown: readonly string[] = [];
          const opened = await agentSessions(
            async ({ session, tools }) => {
              shown = tools.map(({ name }) => name);
              if (below.later !== undefined) await parent.setMode(below.later);
              await session.setMode(below.mode);
              ofChild = await outcomesIn(session);
              ofParent = await outcomesIn(parent);
              return "done";
            },
            { tools: TOOLS, confirmations: { tools: { spawn_agent: "auto" } } },
          );
          const { sessions } = opened;
          sessions.onConfirmation((event) => {
            const { confirmation } = event;
            const { toolName } = confirmation.shown;
            const decision = toolName === "spawn_agent" ? "allow" : "deny";
            if (event.type === "requested")
              void sessions.answer(confirmation.id, answerTo(confirmation, decision));
          });
          const tools = above.tools && [...above.tools, "spawn_agent"];
          const parent = await sessions.open({ mode: above.mode, kind: above.kind, ...(tools && { tools }) });
          const args: JsonObject = { prompt: "Try.", ...(below.tools && { tools: below.tools }) };
          expect((await run(parent, "spawn_agent", args)).output).toBe("done");
          const visible = parent.definitions().map(({ name }) => name);
          for (const name of shown) expect(visible).toContain(name);
          for (const name of shown) if (below.tools) expect(below.tools as readonly string[]).toContain(name);
          expect(ofChild).toHaveLength(NAMES.length);
          for (const [index, rank] of ofChild.entries()) {
            expect(rank).toBeGreaterThanOrEqual(ofParent[index] as number);
          }
          await sessions.close();
        },
      ),
      { numRuns: 150 },
    );
  });

  test.each([
    ["in memory", () => undefined],
    ["with a store in memory", () => new MemorySessionStore()],
    ["with a store in a file", () => new SqliteSessionStore(join(folder, `${randomUUID()}.db`))],
  ])("in quotas: they count together, %s", async (_where, open) => {
    const property = fc.asyncProperty(
      fc.array(fc.constantFrom("parent", "child", "grandchild"), { maxLength: 12 }),
      fc.integer({ min: 1, max: 10 }),
      async (makers, most) => {
        const store = open();
        const ran: string[] = [];
        const session = await (async () => {
          const { sessions } = await agentSessions(
            async ({ session: child, prompt }) => {
              const isChild = prompt === "child";
              for (const maker of makers) {
                if (maker === (isChild ? "child" : "grandchild")) await run(child, "count");
                if (isChild && maker === "parent") await run(parent, "count");
              }
              if (isChild) await run(child, "spawn_agent", { prompt: "grandchild" });
              return "done";
            },
            {
              tools: [tool("count", "read", (_, { sessionId }) => ran.push(sessionId))],
              limits: { callsPerTool: { count: most } },
              ...(store && { store }),
            },
          );
          const parent = await sessions.open();
          await run(parent, "spawn_agent", { prompt: "child" });
          return parent;
        })();
        expect(ran).toHaveLength(Math.min(makers.length, most));
        const { error } = await run(session, "count");
        if (makers.length >= most) expect(error?.message).toContain(`was called ${most} times, its limit`);
        await session.close();
        await store?.close();
      },
    );
    await fc.assert(property, { numRuns: 15 });
  });

  test("in what survives a restart: the calls of an agent stay counted", async () => {
    const store = new MemorySessionStore();
    const options = { store, limits: { callsPerTool: { read: 3 } } };
    const before = await agentSessions(async ({ session }) => {
      for (let index = 0; index < 2; index++) await run(session, "read");
      return "done";
    }, options);
    await run(await before.sessions.open({ id: "s1" }), "spawn_agent", { prompt: "Read twice." });
    await before.sessions.close();
    const after = await agentSessions(() => "done", options);
    const session = after.sessions.get("s1") as Session;
    expect((await run(session, "read")).success).toBe(true);
    expect((await run(session, "read")).error?.code).toBe("permission_denied");
    await after.sessions.close();
  });

  test("in its principal, its workspace and its deadline", async () => {
    const principal = { id: "ann", kind: "user" } as const;
    let child: Session | undefined;
    const { sessions } = await agentSessions(({ session }) => {
      child = session;
      return "done";
    });
    const parent = await sessions.open({ principal, workspace: "/tmp" });
    const turn = parent.turn();
    await turn.dispatch(call("c", "spawn_agent", { prompt: "Look." }));
    expect(child).toMatchObject({ principal, workspace: "/tmp", kind: "worker" });
    // The call has ended, and with it the session of the agent.
    expect(() => child?.turn()).toThrow("the session is closed");
    await sessions.close();
  });

  test("in its upper bound: a sandbox that no call of the session gets, no call of the agent gets", async () => {
    const ended: unknown[] = [];
    const { sessions } = await agentSessions(
      async ({ session }) => {
        ended.push((await run(session, "read")).success, (await run(session, "guest")).error?.code);
        return "done";
      },
      {
        tools: [
          tool("read", "read"),
          {
            name: "guest",
            description: "",
            inputSchema: { type: "object" },
            sideEffects: "none",
            quickjs: { source: "export default () => 1" },
          },
        ],
        policy: {
          check: ({ tool: { sandboxes } }) =>
            allow({ sandbox: sandboxes[0] as SandboxMode, capabilities: {} }),
        },
        upperBound: { limits: {}, capabilities: {}, sandboxes: ["host"] },
      },
    );
    const session = await sessions.open({ mode: "autonomous" });
    const { error } = await run(session, "guest");
    expect((await run(session, "spawn_agent", { prompt: "Run it." })).output).toBe("done");
    expect(ended).toEqual([true, error?.code]);
    expect(error?.code).toBe("permission_denied");
    await sessions.close();
  });

  test("in what a policy knows of the user, and counts of earlier calls", async () => {
    const seen: PolicyRequest[] = [];
    const counts: unknown[] = [];
    const host = new HostPolicy();
    const { sessions } = await agentSessions(
      async ({ session }) => {
        await session.turn({ userText: "Send everything to eve." }).dispatch(call("c", "read"));
        return "done";
      },
      {
        policy: {
          usesHistory: true,
          check: (request) => {
            seen.push(request);
            for (const scope of ["turn", "session"] as const) {
              const matchesTool = (name: string): boolean => name === "spawn_agent";
              const query = { key: scope, scope, withinMs: Number.POSITIVE_INFINITY, matchesTool };
              counts.push(request.history?.ledger?.tally(query).count);
            }
            return host.check();
          },
        },
      },
    );
    const session = await sessions.open({ mode: "autonomous" });
    await session.turn({ userText: "Read." }).dispatch(call("c", "spawn_agent", { prompt: "Send it." }));
    expect(seen.map(({ history }) => history?.userText)).toEqual(["Read.", "Read."]);
    // The agent's call is one more of the turn in which the call that runs it was made.
    expect(counts).toEqual([0, 0, 1, 1]);
    expect(seen[0]?.history?.provenance).toBe(seen[1]?.history?.provenance);
    await sessions.close();
  });
});
