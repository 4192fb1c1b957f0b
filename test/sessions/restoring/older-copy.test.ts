import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { openJournal } from "../../../src/journal/journal.ts";
import { RulePolicy } from "../../../src/policy/rule/rule-policy.ts";
import type { SessionsOptions } from "../../../src/sessions/options.ts";
import type { Session } from "../../../src/sessions/session.ts";
import { SqliteSessionStore } from "../../../src/sessions/store/sqlite-store.ts";
import { call, Gate, testSessions, tool } from "../harness.ts";

const root = mkdtempSync(join(tmpdir(), "sandgate-older-copy-"));
afterAll(() => rmSync(root, { recursive: true }));
let folders = 0;

const ANN = { id: "ann", kind: "user" } as const;

describe("With an older copy of the store, which lacks a call that the journal has", () => {
  /** Runs a payment after the store was copied, and opens the sessions again with the copy. */
  async function reopened(options: Partial<SessionsOptions>, body: (session: Session) => Promise<void>) {
    const folder = join(root, `${folders++}`);
    mkdirSync(join(folder, "copy"), { recursive: true });
    const gate = new Gate();
    const tools = [tool("wait", "none", gate.host), tool("pay", "none")];
    const start = async () => {
      const journal = await openJournal({ directory: join(folder, "journal") });
      const store = new SqliteSessionStore(join(folder, "store.db"));
      const { sessions } = await testSessions(tools, { ...options, store, journal });
      return { sessions, journal };
    };
    const before = await start();
    const session = await before.sessions.open({ id: "s1", principal: ANN });
    const turn = session.turn({ id: "t1" });
    const waiting = turn.dispatchAll([call("w", "wait")]);
    const payment = await turn.accept([call("p", "pay", { amount: 5 })]);
    await gate.hasBegun(1);
    for (const name of ["store.db", "store.db-wal"]) {
      if (existsSync(join(folder, name))) cpSync(join(folder, name), join(folder, "copy", name));
    }
    gate.release("w");
    expect(await Promise.all([waiting, payment.results])).toMatchObject([
      [{ success: true }],
      [{ success: true }],
    ]);
    await before.sessions.close();
    await before.journal.close();
    for (const name of ["store.db", "store.db-wal"]) {
      rmSync(join(folder, name), { force: true });
      if (existsSync(join(folder, "copy", name))) cpSync(join(folder, "copy", name), join(folder, name));
    }
    const after = await start();
    await body(after.sessions.get("s1") as Session);
    await after.sessions.close();
    await after.journal.close();
  }

  async function pays(session: Session): Promise<boolean> {
    return (await session.turn().dispatch(call("p", "pay", { amount: 5 })))?.success === true;
  }

  test("the call counts in the quotas of its session, once", async () => {
    await reopened({ limits: { callsPerTool: { pay: 2 } } }, async (session) => {
      expect([await pays(session), await pays(session)]).toEqual([true, false]);
    });
  });

  test("conditions on earlier calls do not pass as if there were none", async () => {
    const allow = { effect: "allow", sandboxes: ["host"] } as const;
    const policy = new RulePolicy({
      rules: [
        { ...allow, tools: ["wait"] },
        { ...allow, tools: ["pay"], history: [{ count: ["pay"], in: "session", lessThan: 2 }] },
      ],
    });
    await reopened({ policy }, async (session) => {
      expect(await pays(session)).toBe(false);
    });
  });
});
