import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { archiveJournal } from "../../src/journal/archive-journal.ts";
import { createJournalKeys } from "../../src/journal/checkpoints/signed-note.ts";
import { openJournal } from "../../src/journal/journal.ts";
import type { JournalNotice } from "../../src/journal/options.ts";
import { verifyJournal } from "../../src/journal/verify/verify-journal.ts";
import { RulePolicy } from "../../src/policy/rule/rule-policy.ts";
import { recordCalls, recordsIn, TemporaryDirectory, writeRecords } from "./records.ts";

const { signer, verifier } = createJournalKeys("example.com/journal");
const other = createJournalKeys("example.com/other");
const LATER = 10_000_000_000_000;

/** Folders with a journal, and a file that is not part of it. */
class Place extends TemporaryDirectory {
  readonly directory: string = join(this.path, "records");
  readonly peers: string = join(this.path, "peers");
  readonly victim: string = join(this.path, "victim");

  constructor() {
    super();
    mkdirSync(this.peers);
    writeFileSync(this.victim, "precious");
  }
}

/** Where a link can stand, and what writes there. */
const LINKS: readonly {
  readonly where: string;
  readonly pathIn: (place: Place) => string | Promise<string>;
  readonly act: (place: Place) => Promise<unknown>;
}[] = [
  {
    where: "the file for a half-written line",
    pathIn: ({ directory }) => {
      const file = recordsIn(directory).sort().at(-1) ?? "";
      const { size } = statSync(file);
      appendFileSync(file, "half a li");
      return `${file}.${size}.torn`;
    },
    act: async ({ directory }) => (await openJournal({ directory })).close(),
  },
  {
    where: "the space for what was archived",
    pathIn: ({ directory }) => join(directory, "archived.part"),
    act: ({ directory, path }) =>
      archiveJournal({ directory, to: join(path, "archive"), before: LATER, key: signer }),
  },
  {
    where: "the new file of a policy",
    pathIn: ({ directory }) => {
      const policies = join(directory, "policies");
      mkdirSync(policies);
      return join(policies, `${new RulePolicy({ rules: [] }).revision}.json.part`);
    },
    act: async ({ directory }) => {
      await using journal = await openJournal({ directory });
      await journal.keep(new RulePolicy({ rules: [] }), []);
    },
  },
  {
    where: "the new checkpoint for peers",
    pathIn: ({ peers }) => join(peers, `${verifier.split("+")[1]}.checkpoint.part`),
    act: async ({ directory, peers }) => {
      await using journal = await openJournal({
        directory,
        key: signer,
        peers: { directory: peers, keys: [other.verifier] },
      });
      await recordCalls(journal, 1);
    },
  },
];

test.each(
  LINKS.flatMap((each) => [
    { ...each, kind: "a link", make: symlinkSync },
    { ...each, kind: "a hard link", make: linkSync },
  ]),
)("Nothing is written through $kind in place of $where", async ({ pathIn, act, make }) => {
  using place = new Place();
  await writeRecords(place.directory, signer);
  const path = await pathIn(place);
  rmSync(path, { force: true });
  make(place.victim, path);
  await act(place);
  expect(readFileSync(place.victim, "utf8")).toBe("precious");
  const folder = join(path, "..");
  const links = readdirSync(folder).filter((name) => lstatSync(join(folder, name)).isSymbolicLink());
  expect(links).toEqual([]);
  expect(await verifyJournal({ directory: place.directory, keys: [verifier] })).not.toHaveProperty(
    "contradiction",
  );
});

test("A link in place of the journal's next file is not followed, and no call runs", async () => {
  using place = new Place();
  const { directory, victim } = place;
  await using journal = await openJournal({ directory, maxBytes: 1_024 });
  await recordCalls(journal, 1);
  await journal.flush();
  for (let seq = journal.records; seq < journal.records + 100; seq++)
    symlinkSync(victim, join(directory, `journal-${String(seq).padStart(16, "0")}.jsonl`));
  await expect(recordCalls(journal, 10)).rejects.toThrow("is a link: put the file itself in its place");
  expect(readFileSync(victim, "utf8")).toBe("precious");
});

test("A pipe in place of a peer's checkpoint is reported, and blocks nothing", async () => {
  using place = new Place();
  const { directory, peers } = place;
  execFileSync("mkfifo", [join(peers, `${other.verifier.split("+")[1]}.checkpoint`)]);
  const notices: JournalNotice[] = [];
  {
    await using journal = await openJournal({
      directory,
      key: signer,
      peers: { directory: peers, keys: [other.verifier] },
      onNotice: (notice) => notices.push(notice),
    });
    await recordCalls(journal, 1);
  }
  expect(notices).toEqual([
    { kind: "peer", message: "the checkpoint of 'example.com/other' cannot be read: it is not a file" },
  ]);
});
