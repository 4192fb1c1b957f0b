import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createJournalKeys } from "../../../src/journal/checkpoints/signed-note.ts";
import { openJournal } from "../../../src/journal/journal.ts";
import { dispatched, ended, recordCalls } from "../records.ts";
import { Machines } from "./machines.ts";

/** Records calls on each machine in turn, and closes all journals. */
async function record(machines: Machines, count = 3): Promise<void> {
  const indexes = machines.keys.map((_, index) => index);
  for (const index of indexes) {
    const journal = await machines.open(index);
    await recordCalls(journal, count, `m${index}`);
    await journal.close();
  }
  // The first ones have not seen the last ones yet.
  for (const index of indexes) await (await machines.open(index)).close();
}

test("the journals of machines that name each other hold", async () => {
  using machines = new Machines(3);
  await record(machines);
  const report = await machines.verify();
  expect(report).toMatchObject({
    isSound: true,
    absent: [],
    calls: { moved: 0, open: 0, unbegun: 0, examples: [], lost: 0 },
  });
  expect(report.journals.map(({ origin }) => origin)).toEqual([
    "example.com/0",
    "example.com/1",
    "example.com/2",
  ]);
  expect(report.journals.map(({ report: { last } }) => last)).toEqual([8, 8, 8]);
  expect(report.journals.map(({ namedByOthers }) => namedByOthers)).toEqual([8, 8, 7]);
  expect(machines.notices).toEqual([]);
});

test("a checkpoint follows a peer's, even where nothing is recorded, until each names the other", async () => {
  using machines = new Machines(2);
  await using idle = await machines.open(0);
  await using busy = await machines.open(1);
  await recordCalls(busy, 2);
  await expect.poll(() => machines.checkpoints(0), { timeout: 10_000 }).toContain("\npeer example.com/1 5 ");
  expect(idle.records).toBe(1);
  // Nothing is new for either of them now. A second is what a further checkpoint would take.
  const counts = (): readonly number[] =>
    [0, 1].map((index) => machines.checkpoints(index).split("— ").length);
  await expect.poll(() => machines.checkpoints(1), { timeout: 10_000 }).toContain("\npeer example.com/0 1 ");
  const before = counts();
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  expect(counts()).toEqual(before);
});

test("a tail that was cut off, with the checkpoints of its machine, is missing as another machine names it", async () => {
  using machines = new Machines(3);
  await record(machines);
  machines.cut(1, 4);
  const { isSound, journals } = await machines.verify();
  expect(isSound).toBe(false);
  expect(journals.map(({ report }) => report.contradiction)).toEqual([
    undefined,
    {
      kind: "cut",
      seq: 5,
      through: 8,
      message: expect.stringMatching(
        /^records 5 to 8 were cut off: a checkpoint that 'example.com\/[02]' names covers them$/,
      ),
    },
    undefined,
  ]);
});

test("a journal that was written anew contradicts what another machine names", async () => {
  using machines = new Machines(2);
  await record(machines);
  rmSync(machines.directory(0), { recursive: true });
  {
    await using journal = await openJournal({
      directory: machines.directory(0),
      key: machines.keys[0]?.signer ?? "",
    });
    await recordCalls(journal, 9, "other");
  }
  const { isSound, journals } = await machines.verify();
  expect(isSound).toBe(false);
  expect(journals[0]?.report.contradiction).toMatchObject({ kind: "rewritten" });
  expect(journals[1]?.report.contradiction).toBeUndefined();
});

test("a journal that is not there is absent, whether its directory is left out or empty", async () => {
  using machines = new Machines(3);
  await record(machines);
  const absent = [
    { origin: "example.com/2", records: 7, namedBy: expect.stringMatching(/^example.com\/[01]$/) },
  ];
  const directories = [0, 1].map((index) => machines.directory(index));
  expect(await machines.verify({ directories })).toMatchObject({ isSound: false, absent });
  for (const name of readdirSync(machines.directory(2)))
    rmSync(join(machines.directory(2), name), { recursive: true });
  expect(await machines.verify()).toMatchObject({ isSound: false, absent });
});

test("a copy of a checkpoint tells what no other machine names", async () => {
  using machines = new Machines(2);
  await record(machines);
  const copy = machines.checkpoints(1);
  machines.cut(1, 7);
  expect(await machines.verify()).toMatchObject({ isSound: true });
  const { journals } = await machines.verify({ checkpoints: [copy] });
  expect(journals[1]?.report.contradiction).toMatchObject({ kind: "cut", seq: 8 });
  const [only] = [machines.directory(0)];
  const { absent } = await machines.verify({ directories: [only ?? ""], checkpoints: [copy] });
  expect(absent).toEqual([{ origin: "example.com/1", records: 8 }]);
  const forged = copy.replace(/^\d+$/m, "3");
  const found = await machines.verify({ checkpoints: [forged] });
  expect(found.journals[1]?.report.contradiction).toMatchObject({ kind: "forged" });
});

test("a call that began on one machine and ended on another is one call", async () => {
  using machines = new Machines(2);
  {
    await using first = await machines.open(0);
    await first.begin(dispatched("call-1"));
    await first.begin(dispatched("call-2"));
    await first.begin(dispatched("call-3"));
    first.end(ended("call-3"));
    await using second = await machines.open(1);
    second.end(ended("call-1"));
    // A step that a durable engine repeated.
    second.end(ended("call-3"));
  }
  expect(await machines.verify()).toMatchObject({ isSound: true, calls: { moved: 2, open: 1, unbegun: 0 } });
  // The first machine starts again, and does not know that the call went on elsewhere.
  await (await machines.open(0)).close();
  expect(await machines.verify()).toMatchObject({ isSound: true, calls: { moved: 2, open: 0, unbegun: 0 } });
});

test("an end whose beginning is in no journal shows records that no checkpoint covered", async () => {
  using machines = new Machines(2);
  {
    await using second = await machines.open(1);
    await using first = await machines.open(0);
    await first.begin(dispatched("call-1"));
    second.end(ended("call-1"));
  }
  machines.cut(0, 1);
  for (const index of [0, 1]) {
    const path = join(machines.directory(index), "journal-0000000000000001.checkpoints");
    rmSync(path, { force: true });
  }
  const { calls, isSound } = await machines.verify();
  expect(isSound).toBe(false);
  expect(calls).toEqual({
    moved: 0,
    open: 0,
    unbegun: 1,
    lost: 0,
    examples: [
      {
        directory: machines.directory(1),
        seq: 2,
        session: "session-1",
        tool: "write_file",
        callId: "call-1",
      },
    ],
  });
});

test("two journals with one key are refused, and so is one in the place of another", async () => {
  using machines = new Machines(2);
  await record(machines);
  rmSync(machines.directory(1), { recursive: true });
  cpSync(machines.directory(0), machines.directory(1), { recursive: true });
  const { journals, absent, isSound } = await machines.verify();
  expect(isSound).toBe(false);
  expect(journals[1]?.report.contradiction).toMatchObject({ kind: "key" });
  expect(absent).toMatchObject([{ origin: "example.com/1" }]);
});

test("a journal whose key is not among those given contradicts itself, and one without a key is not covered", async () => {
  using machines = new Machines(2);
  await record(machines);
  const [first] = machines.keys.map(({ verifier }) => verifier);
  const partly = await machines.verify({ keys: [first ?? ""] });
  expect(partly.isSound).toBe(false);
  expect(partly.journals[0]?.report).not.toHaveProperty("contradiction");
  expect(partly.journals[1]?.report.contradiction).toMatchObject({ kind: "key", seq: 1 });
  expect(partly.journals[1]?.report.contradiction?.message).toContain("example.com/1+");

  rmSync(machines.directory(1), { recursive: true });
  {
    await using journal = await openJournal({ directory: machines.directory(1) });
    await recordCalls(journal, 1);
  }
  const { journals } = await machines.verify();
  expect(journals[1]?.report.checkpoints).toEqual({ matching: 0, covered: 0, uncovered: 3 });
});

test("a peer's checkpoint by another key is not named, and is told once", async () => {
  using machines = new Machines(2);
  const stranger = createJournalKeys("example.com/1");
  const { verifier } = machines.keys[1] ?? stranger;
  {
    await using journal = await openJournal({
      directory: machines.directory(1),
      key: stranger.signer,
      peers: { directory: machines.shared, keys: [] },
    });
    await recordCalls(journal, 1);
  }
  const idOf = (key: string): string => key.split("+")[1] ?? "";
  const forged = readFileSync(join(machines.shared, `${idOf(stranger.verifier)}.checkpoint`));
  writeFileSync(join(machines.shared, `${idOf(verifier)}.checkpoint`), forged);
  const journal = await machines.open(0);
  await recordCalls(journal, 1);
  await journal.close();
  expect(machines.checkpoints(0)).not.toContain("peer");
  expect(machines.notices).toEqual([
    { kind: "peer", message: "the checkpoint of 'example.com/1' is not signed by its key: it is ignored" },
  ]);
});

test("a peer whose journal was cut back is told, and what was named stays", async () => {
  using machines = new Machines(2);
  await record(machines);
  machines.cut(1, 3);
  await expect(machines.open(1)).rejects.toThrow("contradicts its checkpoint of");
  // Its operator wants it to go on.
  for (const name of readdirSync(machines.shared)) rmSync(join(machines.shared, name));
  await (await machines.open(1)).close();
  machines.notices.length = 0;
  await (await machines.open(0)).close();
  expect(machines.notices).toEqual([
    {
      kind: "peer",
      message:
        "the journal of 'example.com/1' was cut or written anew: it had 7 records, and its checkpoint now has 4 records",
    },
  ]);
  const { journals } = await machines.verify();
  expect(journals[1]?.report.contradiction).toMatchObject({ kind: "cut", seq: 5 });
});

test("a directory of peers that cannot be written is told, and the journal goes on", async () => {
  using machines = new Machines(2);
  rmSync(machines.shared, { recursive: true });
  const journal = await machines.open(0);
  await recordCalls(journal, 1);
  await journal.close();
  expect(machines.notices).toEqual([
    {
      kind: "peer",
      message: expect.stringMatching(/^the checkpoint could not be written for the peers: ENOENT/),
    },
  ]);
  expect(journal.records).toBe(3);
});

test.each([
  [{ keys: ["nonsense"], directory: "x" }, "the key must be a verifier key"],
  [{ keys: [], directory: "" }, "peers.directory must be a path"],
])("peers are refused: %j", async (peers, message) => {
  using machines = new Machines(1);
  const [{ signer: key } = { signer: "" }] = machines.keys;
  await expect(openJournal({ directory: machines.directory(0), key, peers })).rejects.toThrow(message);
  await expect(openJournal({ directory: machines.directory(0), peers })).rejects.toThrow(
    "peers require a key",
  );
});
