import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createJournalKeys } from "../../src/journal/checkpoints/signed-note.ts";
import { type Journal, openJournal } from "../../src/journal/journal.ts";
import type { JournalNotice, JournalOptions } from "../../src/journal/options.ts";
import { verifyJournal } from "../../src/journal/verify/verify-journal.ts";
import { dispatched, ended, recordCalls, TemporaryDirectory } from "./records.ts";

interface Opened extends AsyncDisposable {
  readonly journal: Journal;
  readonly notices: readonly JournalNotice[];
  /** The parent of the journal's directory. */
  readonly parent: string;
  readonly directory: string;
  /** The path of the first file. */
  readonly file: string;
}

/** Opens a journal that has a record of a call. */
async function open(options: Partial<JournalOptions> = {}): Promise<Opened> {
  const temporary = new TemporaryDirectory();
  const directory = join(temporary.path, "records");
  const notices: JournalNotice[] = [];
  const onNotice = (notice: JournalNotice): void => void notices.push(notice);
  const journal = await openJournal({ directory, onNotice, ...options });
  await recordCalls(journal, 1);
  await journal.flush();
  return {
    journal,
    notices,
    parent: temporary.path,
    directory,
    file: join(directory, "journal-0000000000000001.jsonl"),
    async [Symbol.asyncDispose]() {
      await journal.close().catch(() => {});
      temporary[Symbol.dispose]();
    },
  };
}

/** What another process does to a file that is open, what the journal says then, and how it is undone. */
interface Interference {
  readonly what: string;
  readonly act: (path: string) => void;
  readonly problem: RegExp;
  /** Default: it cannot be undone. */
  readonly undo?: (path: string) => void;
}

const INTERFERENCES: readonly Interference[] = [
  { what: "is removed", act: (path) => rmSync(path), problem: /removed or renamed/ },
  {
    what: "is renamed",
    act: (path) => renameSync(path, `${path}.old`),
    problem: /removed or renamed/,
    undo: (path) => renameSync(`${path}.old`, path),
  },
  {
    what: "is replaced by a copy",
    act: (path) => {
      copyFileSync(path, `${path}.copy`);
      renameSync(`${path}.copy`, path);
    },
    problem: /replaced by another file/,
  },
  {
    what: "is replaced by a link to a copy",
    act: (path) => {
      renameSync(path, `${path}.old`);
      copyFileSync(`${path}.old`, `${path}.copy`);
      symlinkSync(`${path}.copy`, path);
    },
    problem: /replaced by another file/,
    undo: (path) => renameSync(`${path}.old`, path),
  },
  {
    what: "is replaced by a folder",
    act: (path) => {
      rmSync(path);
      mkdirSync(path);
    },
    problem: /replaced by another file/,
  },
  {
    what: "is made read-only",
    act: (path) => chmodSync(path, 0o400),
    problem: /read-only/,
    undo: (path) => chmodSync(path, 0o600),
  },
];

const RESIZINGS: readonly Interference[] = [
  { what: "is emptied", act: (path) => truncateSync(path), problem: /cut to 0 bytes/ },
  {
    what: "is cut in the middle of a line",
    act: (path) => truncateSync(path, 10),
    problem: /cut to 10 bytes/,
  },
  { what: "is written to", act: (path) => appendFileSync(path, "\n"), problem: /another process wrote/ },
];

async function expectRefused({ journal, notices }: Opened, problem: RegExp): Promise<void> {
  await expect(journal.begin(dispatched("after"))).rejects.toThrow(problem);
  expect(journal.problem).toMatch(problem);
  expect(notices).toContainEqual({ kind: "unhealthy", message: expect.stringMatching(problem) });
  // The tools of every class are refused from now on, and synchronously.
  expect(() => journal.begin(dispatched("later", {}, { sideEffects: "read" }))).toThrow(problem);
}

describe("While a journal is open, no call runs", () => {
  test.each([...INTERFERENCES, ...RESIZINGS])("after its file $what", async ({ act, problem, undo }) => {
    await using opened = await open();
    act(opened.file);
    await expectRefused(opened, problem);
    if (undo === undefined) return;
    undo(opened.file);
    await expect.poll(() => opened.journal.problem, { timeout: 5_000 }).toBeUndefined();
    await recordCalls(opened.journal, 1, "restored");
    await opened.journal.close();
    expect(await verifyJournal({ directory: opened.directory })).not.toHaveProperty("contradiction");
  });

  test.each([
    ...INTERFERENCES,
    ...RESIZINGS,
  ])("after its file $what, instead of going on in another one", async ({ act, problem }) => {
    // Each group of records begins another file.
    await using opened = await open({ maxBytes: 1_024 });
    const { journal, directory } = opened;
    await recordCalls(journal, 3);
    await journal.flush();
    const last = readdirSync(directory)
      .filter((name) => name.endsWith(".jsonl"))
      .at(-1);
    act(join(directory, last ?? ""));
    await expectRefused(opened, problem);
  });

  test.each(INTERFERENCES)("after its lock $what", async ({ act, problem }) => {
    await using opened = await open();
    act(join(opened.directory, "lock"));
    await expectRefused(opened, problem);
  });

  test.each([...INTERFERENCES, ...RESIZINGS])("after the file of its sealed arguments $what", async ({
    act,
    problem,
  }) => {
    await using opened = await open({ arguments: "sealed" });
    act(opened.file.replace(".jsonl", ".sealed"));
    await expectRefused(opened, problem);
  });

  test("after its folder is renamed, even if another one takes its place", async () => {
    await using opened = await open();
    renameSync(opened.directory, `${opened.directory}.old`);
    await expectRefused(opened, /removed or renamed/);
    await using other = await openJournal({ directory: opened.directory });
    await recordCalls(other, 1);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(opened.journal.problem).toBeDefined();
  });

  test("after another process opened the journal, since the lock was removed", async () => {
    await using opened = await open();
    rmSync(join(opened.directory, "lock"));
    await using other = await openJournal({ directory: opened.directory });
    await expectRefused(opened, /no longer locked|another process wrote/);
    await recordCalls(other, 3, "other");
    await other.close();
    expect(await verifyJournal({ directory: opened.directory })).not.toHaveProperty("contradiction");
  });
});

describe("A journal notices although no call is recorded", () => {
  const SOME = [...INTERFERENCES.slice(0, 3), ...RESIZINGS];

  test.each(SOME)("that its file $what", async ({ act, problem }) => {
    await using opened = await open();
    act(opened.file);
    await expect.poll(() => opened.journal.problem, { timeout: 5_000 }).toMatch(problem);
    expect(opened.notices.map(({ kind }) => kind)).toEqual(["unhealthy"]);
  });

  test.each(SOME)("that the file of its sealed arguments $what", async ({ act, problem }) => {
    await using opened = await open({ arguments: "sealed" });
    act(opened.file.replace(".jsonl", ".sealed"));
    await expect.poll(() => opened.journal.problem, { timeout: 5_000 }).toMatch(problem);
  });
});

test("A journal reports once that an earlier file was removed or changed, and goes on", async () => {
  await using opened = await open({ maxBytes: 1_024, key: createJournalKeys("example.com/journal").signer });
  const { journal, notices, directory, file } = opened;
  await recordCalls(journal, 6);
  await journal.flush();
  const [, second = "", third = ""] = readdirSync(directory).filter((name) => name.endsWith(".jsonl"));
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  expect(notices).toEqual([]);
  rmSync(file);
  rmSync(file.replace(".jsonl", ".checkpoints"));
  appendFileSync(join(directory, second), "\n");
  utimesSync(join(directory, third), 1, 1);
  await expect.poll(() => notices.length, { timeout: 5_000 }).toBe(4);
  expect(notices.map(({ kind }) => kind)).toEqual(Array(4).fill("changed"));
  expect(notices.map(({ message }) => /(removed|changed) by/.exec(message)?.[1]).sort()).toEqual([
    "changed",
    "changed",
    "removed",
    "removed",
  ]);
  await recordCalls(journal, 1, "after");
  expect(journal.problem).toBeUndefined();
});

test("A journal reports that the file of its checkpoints was removed, and goes on", async () => {
  await using opened = await open({ key: createJournalKeys("example.com/journal").signer });
  rmSync(opened.file.replace(".jsonl", ".checkpoints"));
  await recordCalls(opened.journal, 1, "after");
  await expect
    .poll(() => opened.notices, { timeout: 5_000 })
    .toContainEqual({ kind: "checkpoint", message: expect.stringContaining("removed or renamed") });
  expect(opened.journal.problem).toBeUndefined();
});

test("A journal reports once that the clock was set back, and that it has reached the records again", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  await using opened = await open();
  const { journal, notices } = opened;
  vi.setSystemTime(Date.now() - 500);
  await recordCalls(journal, 1, "half-a-second");
  expect(notices).toEqual([]);
  vi.setSystemTime(Date.now() - 60_000);
  await recordCalls(journal, 2, "back");
  expect(notices).toEqual([
    { kind: "clock", message: expect.stringMatching(/^the clock is 6[01] s behind/) },
  ]);
  vi.setSystemTime(Date.now() + 120_000);
  await recordCalls(journal, 2, "later");
  expect(notices.map(({ kind }) => kind)).toEqual(["clock", "clock"]);
  expect(notices[1]?.message).toContain("has reached");
});

test.each([
  ["the lock", (directory: string) => chmodSync(join(directory, "lock"), 0o400)],
  ["the folder", (directory: string) => chmodSync(directory, 0o500)],
])("A journal in a folder without permission to write %s says so", async (_what, forbid) => {
  using temporary = new TemporaryDirectory();
  const directory = join(temporary.path, "records");
  await (await openJournal({ directory })).close();
  if (_what === "the folder") rmSync(join(directory, "lock"));
  forbid(directory);
  const entry = JSON.stringify(join(import.meta.dirname, "../../src/journal/journal.ts"));
  // The user root may write everywhere.
  const program = `if (process.getuid() === 0) { process.setegid(65534); process.seteuid(65534); }
    const { openJournal } = await import(${entry});
    await openJournal({ directory: ${JSON.stringify(directory)} }).catch((error) => console.log(error.message));`;
  if (process.getuid?.() === 0) {
    chmodSync(temporary.path, 0o755);
    for (const path of [directory, join(directory, "lock")])
      if (existsSync(path)) chownSync(path, 65_534, 65_534);
  }
  const { stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
    encoding: "utf8",
  });
  chmodSync(directory, 0o700);
  expect(stdout).toMatch(/cannot be opened: this user cannot write (to that folder|'.*lock')/);
});

test("Records of very long arguments that wait for the disk are refused before they fill the memory", async () => {
  await using opened = await open();
  const { journal } = opened;
  const long = { text: "x".repeat(2_000_000) };
  const begun: (Promise<void> | undefined)[] = [];
  const beginMany = (): void => {
    for (let index = 0; index < 100; index++) begun.push(journal.begin(dispatched(`long-${index}`, long)));
  };
  expect(beginMany).toThrow("too many records wait");
  await Promise.all(begun);
  expect(begun.length).toBeGreaterThan(20);
  for (let index = 0; index < begun.length; index++) journal.end(ended(`long-${index}`));
  await journal.begin(dispatched("next"));
});
