import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, describe, expect, test } from "vitest";
import { type Journal, openJournal } from "../../../src/journal/journal.ts";
import type { Session } from "../../../src/sessions/session.ts";
import { SqliteSessionStore } from "../../../src/sessions/store/sqlite-store.ts";
import type { SessionStore } from "../../../src/sessions/store/store.ts";
import { LossyStore } from "../../races/lossy-store.ts";
import { answerTo, call, Gate, type TestSessions, testSessions, tool } from "../harness.ts";

const root = mkdtempSync(join(tmpdir(), "sandgate-repair-"));
afterAll(() => rmSync(root, { recursive: true }));
let folders = 0;

const UNKNOWN = {
  code: "execution_error",
  effect: "unknown",
  message: "Tool 'write_file' was interrupted; whether it took effect is not known",
};
const COMPLETED = {
  code: "execution_error",
  effect: "committed",
  message: "Tool 'write_file' completed, but its result was lost in a restart",
};

async function executionOf(session: Session | undefined): Promise<unknown> {
  const turn = await session?.findTurn("t1");
  for (;;) {
    const execution = (await turn?.messages())?.[0]?.executions[0];
    if (execution !== undefined) return execution;
    await nextTurn();
  }
}

describe("After kill -9, the journal decides on a call", () => {
  /**
   * Runs the call in a process, and kills the process (-9).
   *
   * @param isBehind Whether the store is then replaced by a copy from before the answer.
   */
  async function killed(mode: string, isBehind: boolean): Promise<string> {
    const folder = join(root, `${folders++}`);
    const backup = `${folder}-backup`;
    mkdirSync(folder);
    const child = spawn(process.execPath, [join(import.meta.dirname, "child.ts"), folder, mode], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    let printed = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      printed += text;
      if (text.includes("waiting")) {
        cpSync(folder, backup, { recursive: true });
        child.stdin.write("go on\n");
      }
      if (/running|ended/.test(text)) child.kill("SIGKILL");
    });
    const [, signal] = await once(child, "close");
    expect([signal, printed]).toEqual(["SIGKILL", `waiting\n${mode === "running" ? "running" : "ended"}\n`]);
    if (isBehind) {
      for (const name of ["store.db", "store.db-wal"]) {
        rmSync(join(folder, name), { force: true });
        if (existsSync(join(backup, name))) cpSync(join(backup, name), join(folder, name));
      }
    }
    return folder;
  }

  test.each([
    ["that ran, if the store is from before the answer", "running", true, UNKNOWN],
    ["that had ended, if the store is from before the answer", "ended", true, COMPLETED],
    ["that ran, if the store has its beginning", "running", false, UNKNOWN],
    ["that had ended, if the store has its beginning only", "end lost", false, COMPLETED],
  ] as const)("%s", async (_, mode, isBehind, error) => {
    const folder = await killed(mode, isBehind);
    const write = tool("write_file", "write", () => {
      throw new Error("it runs again");
    });
    await using journal = await openJournal({ directory: join(folder, "journal") });
    const store = new SqliteSessionStore(join(folder, "store.db"));
    const { sessions, events } = await testSessions([write], { store, journal });
    expect(sessions.openConfirmations()).toEqual([]);
    expect(await executionOf(sessions.get("s1"))).toMatchObject({ success: false, error });
    expect(events.filter(({ type }) => type === "tool.started")).toEqual([]);
    expect(readFileSync(join(folder, "effects"), "utf8")).toBe("ran\n");
    await sessions.close();
  });

  test("and without the journal, a store from before the answer would ask about it again", async () => {
    const folder = await killed("ended", true);
    const store = new SqliteSessionStore(join(folder, "store.db"));
    const { sessions } = await testSessions([tool("write_file", "write")], { store });
    expect(sessions.openConfirmations()).toHaveLength(1);
    await sessions.close();
  });
});

describe("With a disk that lies about what is durable, a call runs once", () => {
  const POINTS = ["asked", "allowed", "running", "ended"] as const;
  type Point = (typeof POINTS)[number];
  const cases = POINTS.flatMap((synced, index) =>
    POINTS.slice(index).map((crash) => [synced, crash] as const),
  );

  test.each(
    cases,
  )("if it kept what was written until %s, and the process ended at %s", async (synced, crash) => {
    const disk = new LossyStore(false);
    const directory = join(root, `${folders++}`);
    const gate = new Gate();
    const write = tool("write_file", "write", gate.host);
    const start = (store: SessionStore, journal: Journal): Promise<TestSessions> =>
      testSessions([write], { store, journal });
    const at = (point: Point): boolean => {
      if (point === synced) disk.sync();
      return point === crash;
    };
    const journal = await openJournal({ directory });
    const before = await start(disk.open(), journal);
    const session = await before.sessions.open({ id: "s1" });
    void session.turn({ id: "t1" }).dispatchAll([call("c1", "write_file")], { messageId: "m1" });
    const confirmation = await before.nextConfirmation();
    const reach = async (): Promise<void> => {
      if (at("asked")) return;
      await session.answer(confirmation.id, answerTo(confirmation, "allow"));
      // What the person answered is written; what follows happens later.
      if (at("allowed")) return;
      await gate.hasBegun(1);
      if (at("running")) return;
      gate.release("c1");
      while (!before.events.some(({ type }) => type === "tool.completed")) await nextTurn();
      await journal.flush();
      at("ended");
    };
    await reach();
    disk.crash();
    const hadBegun = gate.begun.length;
    await journal.close();

    await using reopened = await openJournal({ directory });
    const after = await start(disk.open(), reopened);
    for (const open of after.sessions.openConfirmations()) {
      await after.sessions.answer(open.id, answerTo(open, "allow"));
    }
    const ending = executionOf(after.sessions.get("s1"));
    if (hadBegun === 0) {
      await gate.hasBegun(1);
      gate.release("c1");
    }
    const execution = await ending;
    if (crash === "running") expect(execution).toMatchObject({ error: UNKNOWN });
    else if (crash === "ended") {
      const isKept = synced === "ended";
      expect(execution).toMatchObject(isKept ? { success: true, output: "c1" } : { error: COMPLETED });
    } else expect(execution).toMatchObject({ success: true });
    expect(gate.begun).toEqual(["c1"]);
    await after.sessions.close();
  });
});
