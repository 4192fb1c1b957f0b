import { strictEqual } from "node:assert";
import { DatabaseSync } from "node:sqlite";
import { type AnswerOutcome, type SessionStore, SqliteSessionStore } from "sandgate/sessions";
import type { OpenCase, Question } from "../harness/case.ts";
import { NewDirectory } from "../journal/new-directory.ts";
import { footprint } from "../soak/footprint.ts";
import { openBareAnswer } from "./bare-confirmations.ts";
import { OpenConfirmations } from "./open-confirmations.ts";
import { openParts } from "./setting.ts";

const MANY = 10_000;
const BARE_COMMIT = "UPDATE and COMMIT in SQLite, synced";

/** What an answer takes while many calls wait for theirs, and the memory of these calls. */
export const confirmations: Question = {
  name: "sessions-answer",
  cases: [
    { name: "an answer, 1 open confirmation", open: () => openAnswer(1) },
    { name: `an answer, ${MANY} open confirmations`, open: () => openAnswer(MANY) },
    { name: `an answer, ${MANY} open confirmations without calls`, open: () => openBareAnswer(MANY) },
    { name: BARE_COMMIT, floor: BARE_COMMIT, open: openBareCommit },
    {
      name: `an answer in a SQLite store, ${MANY} open confirmations`,
      floor: BARE_COMMIT,
      open: () => {
        const directory = new NewDirectory();
        return openAnswer(MANY, {
          newStore: (n) => new SqliteSessionStore(directory.pathOf(`${n}.db`)),
          close: () => directory.delete(),
        });
      },
    },
  ],
};

interface Stores {
  readonly newStore: (n: number) => SessionStore | undefined;
  readonly close: () => void;
}

const NO_STORES: Stores = { newStore: () => undefined, close: () => {} };

async function openAnswer(count: number, { newStore, close }: Stores = NO_STORES): Promise<OpenCase> {
  const parts = await openParts("write");
  const open = new OpenConfirmations();
  // The code of the first call is not counted.
  await open.open(1, parts, () => undefined);
  const before = footprint().heapMiB;
  await open.open(count - 1, parts, newStore);
  const heapMiB = footprint().heapMiB - before;
  let isAnswered = false;
  return {
    before: async () => {
      if (isAnswered) await open.replace();
      isAnswered = true;
    },
    run: () => open.answer(),
    check: (answer) => strictEqual((answer as AnswerOutcome).outcome, "resolved"),
    observed: () => (count === 1 ? {} : { [`MiB of heap for ${count} open confirmations`]: heapMiB }),
    close: async () => {
      await open.close();
      await parts.sandboxes.close();
      close();
    },
  };
}

/** What is the least for an answer that is durable. */
function openBareCommit(): OpenCase {
  const directory = new NewDirectory();
  const database = new DatabaseSync(directory.pathOf("bare.db"));
  database.exec(
    "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; " +
      "CREATE TABLE answers (id INTEGER PRIMARY KEY, answer TEXT) STRICT; INSERT INTO answers VALUES (1, '')",
  );
  const update = database.prepare("UPDATE answers SET answer = ? WHERE id = 1");
  let count = 0;
  return {
    run: () => {
      database.exec("BEGIN IMMEDIATE");
      const { changes } = update.run(`{"decision":"allow","by":"bench","at":${count++}}`);
      database.exec("COMMIT");
      return changes;
    },
    check: (changes) => strictEqual(changes, 1),
    close: () => {
      database.close();
      directory.delete();
    },
  };
}
