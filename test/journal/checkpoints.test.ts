import { appendFileSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { createJournalKeys } from "../../src/journal/checkpoints/signed-note.ts";
import { openJournal } from "../../src/journal/journal.ts";
import type { JournalNotice } from "../../src/journal/options.ts";
import { verifyJournal } from "../../src/journal/verify/verify-journal.ts";
import { dispatched, recordCalls, TemporaryDirectory } from "./records.ts";

const { signer: key, verifier } = createJournalKeys("example.com/journal");
const CHECKPOINTS = "journal-0000000000000001.checkpoints";

test("a checkpoint is signed after 1,000 records, while the journal is open", async () => {
  using directory = new TemporaryDirectory();
  await using journal = await openJournal({ directory: directory.path, key });
  await Promise.all(Array.from({ length: 2_500 }, (_, index) => journal.begin(dispatched(`c${index}`))));
  await journal.flush();
  await expect
    .poll(() => readFileSync(join(directory.path, CHECKPOINTS), "utf8").split("\n")[1], { timeout: 30_000 })
    .toSatisfy((records) => Number(records) >= 1_000);
});

test("a checkpoint is signed a second after a record, and when the journal is closed", async () => {
  using directory = new TemporaryDirectory();
  const journal = await openJournal({ directory: directory.path, key });
  const counts = (): number[] =>
    [...readFileSync(join(directory.path, CHECKPOINTS), "utf8").matchAll(/^\d+$/gm)].map(([count]) =>
      Number(count),
    );
  await recordCalls(journal, 1);
  await expect.poll(counts, { timeout: 10_000 }).toEqual([3]);
  await recordCalls(journal, 1);
  await journal.close();
  expect(counts()).toEqual([3, 5]);
  expect(await verifyJournal({ directory: directory.path, keys: [verifier] })).toMatchObject({
    checkpoints: { matching: 2, covered: 5, uncovered: 0 },
  });
});

test("checkpoints are copied to programs and URLs, and find a tail that was cut off", async ({
  onTestFinished,
}) => {
  using directory = new TemporaryDirectory();
  const posted: string[] = [];
  const server = createServer(async (request, response) => {
    posted.push(await text(request));
    response.end();
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  const copies = join(directory.path, "copies");
  const journal = join(directory.path, "journal");
  {
    await using opened = await openJournal({
      directory: journal,
      key,
      anchors: [{ command: ["sh", "-c", 'cat >> "$0"', copies] }, { url: `http://127.0.0.1:${port}/` }],
    });
    await recordCalls(opened, 3);
  }
  const copy = readFileSync(copies, "utf8");
  expect(posted.join("")).toBe(copy);
  // Somebody cuts the tail off, with the checkpoints beside it.
  const file = join(journal, "journal-0000000000000001.jsonl");
  const kept = readFileSync(file, "utf8").split("\n").slice(0, 4).join("\n");
  rmSync(join(journal, CHECKPOINTS));
  rmSync(file);
  appendFileSync(file, `${kept}\n`);
  const alone = await verifyJournal({ directory: journal, keys: [verifier] });
  expect(alone).toMatchObject({ checkpoints: { matching: 0, uncovered: 4 } });
  expect(alone).not.toHaveProperty("contradiction");
  const compared = await verifyJournal({ directory: journal, keys: [verifier], checkpoints: [copy] });
  expect(compared.contradiction).toMatchObject({ kind: "cut", seq: 5, through: 7 });
});

test("an anchor that fails is told, and the journal goes on", async () => {
  using directory = new TemporaryDirectory();
  const notices: JournalNotice[] = [];
  {
    await using journal = await openJournal({
      directory: directory.path,
      key,
      anchors: [{ command: ["false"] }],
      onNotice: (notice) => notices.push(notice),
    });
    await recordCalls(journal, 1);
  }
  expect(notices).toContainEqual({
    kind: "anchor",
    message: "a checkpoint was not copied: false: it ended with exit code 1",
  });
  expect(await verifyJournal({ directory: directory.path, keys: [verifier] })).not.toHaveProperty(
    "contradiction",
  );
});

test("two histories under one key are found by their checkpoints", async () => {
  using one = new TemporaryDirectory();
  using other = new TemporaryDirectory();
  for (const { path } of [one, other]) {
    await using journal = await openJournal({ directory: path, key });
    await recordCalls(journal, 2, path);
  }
  const copy = readFileSync(join(other.path, CHECKPOINTS), "utf8");
  const report = await verifyJournal({ directory: one.path, keys: [verifier], checkpoints: [copy] });
  expect(report.contradiction).toMatchObject({ kind: "forked", seq: 1, through: 5 });
});

test("a checkpoint that was written in part is not a contradiction, and is replaced", async () => {
  using directory = new TemporaryDirectory();
  await (await openJournal({ directory: directory.path, key })).close();
  appendFileSync(join(directory.path, CHECKPOINTS), "\nexample.com/journal\n7\nab");
  const options = { directory: directory.path, keys: [verifier] };
  expect(await verifyJournal(options)).not.toHaveProperty("contradiction");
  await (await openJournal({ directory: directory.path, key })).close();
  expect(await verifyJournal(options)).toMatchObject({ checkpoints: { matching: 2, uncovered: 0 } });
});
