import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { PassThrough, Readable } from "node:stream";
import { expect, test } from "vitest";
import { run } from "../../../src/cli/run.ts";
import { openJournal } from "../../../src/journal/journal.ts";
import { ended, dispatched as record, writeRecords } from "../../journal/records.ts";
import { createFolder, PROJECT, sandgate } from "../sandgate.ts";

const MESSAGE = JSON.stringify({
  role: "assistant",
  toolCalls: [
    { id: "one", name: "add", arguments: { a: 1, b: 2 } },
    { id: "two", name: "forbidden", arguments: {} },
    { id: "three", name: "broken", arguments: {} },
    { id: "four", name: "upper", arguments: { text: "secret words" } },
    { id: "five", name: "nothing", arguments: {} },
  ],
});

/** Writes the project with a journal, and dispatches a message. Returns the folder. */
async function dispatched(journal: string): Promise<string> {
  const folder = await createFolder({
    ...PROJECT,
    "sandgate.yaml": `${PROJECT["sandgate.yaml"]}\njournal: ${journal}\n`,
    "message.json": MESSAGE,
  });
  const key = join(folder, "journal.key");
  expect(await sandgate(["journal", "keygen", "--name", "example.com/j", "--out", key])).toMatchObject({
    code: 0,
  });
  await dispatch(folder);
  return folder;
}

async function dispatch(folder: string): Promise<void> {
  const argv = ["dispatch", join(folder, "message.json"), "--config", join(folder, "sandgate.yaml")];
  expect(await sandgate(argv)).toMatchObject({ code: 0, stderr: "" });
}

test("dispatch records its calls, and the commands on the journal read them", async () => {
  const folder = await dispatched("{ directory: records, key: journal.key }");
  const config = ["--config", join(folder, "sandgate.yaml")];
  const directory = join(folder, "records");
  const key = join(folder, "journal.key.pub");

  const verified = await sandgate(["journal", "verify", directory, "--key", key]);
  // A dispatch that takes longer than a second signs more than one.
  expect(verified.stdout).toMatch(
    /^records 1 to 9 are chained\n\d+ checkpoints match, up to record 9; 0 records are/,
  );
  expect(verified.code).toBe(0);
  const unchecked = await sandgate(["journal", "verify", directory]);
  expect(unchecked.stdout).toContain("checkpoints were not checked");

  const shown = await sandgate(["journal", "show", ...config, "--tool", "add"]);
  expect(shown.stdout).toMatch(
    /^2 \S+Z dispatched \(allow\) add call one session .+\n3 \S+Z ended \(ok\) add call one/,
  );
  const [, record = ""] = (await sandgate(["journal", "show", ...config, "--json"])).stdout.split("\n");
  expect(JSON.parse(record)).toMatchObject({ tool: "add", args: { a: 1, b: 2 } });
  const none = await sandgate(["journal", "show", ...config, "one", "--since", "2999-01-01"]);
  expect(none).toMatchObject({ code: 0, stdout: "" });
  const tail = await sandgate(["journal", "tail", "--directory", directory]);
  expect(tail.stdout.trim().split("\n").length).toBe(9);

  const why = await sandgate(["why", "two", ...config]);
  expect(why.stdout).toMatch(/denied \(permission_denied: .*\) forbidden call two/);
  expect(why.stdout).toContain("rules: denied");
  const ran = await sandgate(["why", "one", ...config]);
  expect(ran.stdout).toContain("rules: on the host");
  expect(ran.stdout).toContain('"sandbox":"host"');
  expect(ran.stdout).toContain("receipt:");
  expect(await sandgate(["why", "nobody", ...config])).toMatchObject({ code: 1 });
});

test("why names the command that says what would allow a call, unless its arguments are no plain text", async () => {
  const policy = `policy:
  rules:
    - { name: small, tools: [add], when: { /a: { range: { max: 1 } } }, effect: allow, sandboxes: [host] }
    - { name: short, tools: [upper], when: { /text: { equals: a } }, effect: allow, sandboxes: [host, quickjs] }
`;
  const [tools = ""] = String(PROJECT["sandgate.yaml"]).split(/^policy:/m);
  const folder = await createFolder({
    ...PROJECT,
    "sandgate.yaml": `${tools}\n${policy}\njournal: { directory: records }\n`,
    "message.json": JSON.stringify([
      { id: "one", name: "add", arguments: { a: 2, b: 1 } },
      { id: "two", name: "upper", arguments: { text: "it's" } },
    ]),
  });
  const config = ["--config", join(folder, "sandgate.yaml")];
  await sandgate(["dispatch", join(folder, "message.json"), ...config]);
  const { stdout } = await sandgate(["why", "one", ...config]);
  const [, call = ""] = /^(?:npx )?sandgate policy explain --suggest --call '(.*)'$/m.exec(stdout) ?? [];
  const explained = await sandgate(["policy", "explain", "--suggest", "--call", call, ...config]);
  expect(explained.stdout).toContain("to allow the call: The rule 'small' nearly allows the call");
  expect((await sandgate(["why", "two", ...config])).stdout).toMatch(/--suggest --call JSON$/m);
});

test("why explains the last call with an id, those of a session, and those since a time", async () => {
  const directory = join(await createFolder({}), "records");
  {
    await using journal = await openJournal({ directory });
    const places = ["s1", "s2"].flatMap((sessionId) => ["t1", "t2"].map((turnId) => ({ sessionId, turnId })));
    for (const place of places)
      await journal.begin(record("call_3", { of: `${place.sessionId} ${place.turnId}` }, place));
    // They ran at once.
    for (const place of places) journal.end(ended("call_3", place));
  }
  const argumentsIn = async (...options: readonly string[]): Promise<unknown> => {
    const { stdout } = await sandgate(["why", "call_3", "-d", directory, ...options]);
    return [...stdout.matchAll(/"of":"([^"]+)"/g)].map(([, of]) => of);
  };
  expect(await argumentsIn()).toEqual(["s2 t2"]);
  expect((await sandgate(["why", "call_3", "-d", directory])).stdout).toContain("ended (ok)");
  expect(await argumentsIn("--session", "s1")).toEqual(["s1 t2"]);
  expect(await argumentsIn("--since", "2000-01-01")).toEqual(["s1 t1", "s1 t2", "s2 t1", "s2 t2"]);
  expect(await argumentsIn("--session", "s1", "--since", "2000-01-01")).toEqual(["s1 t1", "s1 t2"]);
  expect(await sandgate(["why", "call_3", "-d", directory, "--since", "2999-01-01"])).toMatchObject({
    code: 1,
  });
  expect(await sandgate(["why", "call_3", "-d", directory, "--session", "s3"])).toMatchObject({
    code: 1,
    stdout: "the journal has no call call_3 in session s3\n",
  });
});

test("verify names the first record that contradicts, and exits with 1", async () => {
  const folder = await dispatched("{ directory: records }");
  const file = join(folder, "records", "journal-0000000000000001.jsonl");
  await writeFile(file, (await readFile(file, "utf8")).replace('"b":2', '"b":3'));
  const { code, stdout } = await sandgate(["journal", "verify", file]);
  expect(code).toBe(1);
  expect(stdout).toContain(`changed at record 2 in ${file}: record 2 was changed`);
});

test("verify checks the journals of several machines together, and says what is missing", async () => {
  const folder = await createFolder(PROJECT);
  const path = (name: string): string => join(folder, name);
  for (const name of ["a", "b"])
    await sandgate(["journal", "keygen", "--name", `example.com/${name}`, "--out", path(name)]);
  await mkdir(path("shared"));
  const keys = ["--key", path("a.pub"), "--key", path("b.pub")];
  for (const name of ["a", "b", "a"]) {
    await writeFile(path("message.json"), MESSAGE);
    await writeFile(
      path("sandgate.yaml"),
      `${PROJECT["sandgate.yaml"]}
journal:
  directory: records-${name}
  key: ${name}
  peers: { directory: shared, keys: [a.pub, b.pub] }
`,
    );
    await dispatch(folder);
  }
  const directories = [path("records-a"), path("records-b")];
  const sound = await sandgate(["journal", "verify", ...directories, ...keys]);
  expect(sound.stdout).toContain("(example.com/b):\n  records 1 to 9 are chained\n");
  expect(sound.stdout).toContain("  checkpoints of other journals name it up to record 9\n");
  expect(sound.stdout).toContain("0 calls began in one journal and ended in another; 0 have not ended");
  expect(sound.code).toBe(0);

  await writeFile(path("empty"), "");
  const mixed = await sandgate(["journal", "verify", ...directories, path("empty")]);
  expect(mixed).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("either directories of journals or"),
  });

  await rm(path("records-b"), { recursive: true });
  await mkdir(path("records-b"));
  const missing = await sandgate(["journal", "verify", ...directories, ...keys]);
  expect(missing.code).toBe(1);
  expect(missing.stdout).toContain(
    "absent: the journal of example.com/b, which had 9 records, as example.com/a says",
  );
});

test("tail -f prints what is recorded later, until it is interrupted", async () => {
  const folder = await dispatched("{ directory: records }");
  const interruption = new AbortController();
  const argv = ["journal", "tail", "-f", "--directory", join(folder, "records"), "--tool", "add", "--json"];
  const stdout = new PassThrough();
  const following = run(argv, {
    stdin: Readable.from([]),
    stdout,
    stderr: stdout,
    signal: interruption.signal,
  });
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
  const read = async (): Promise<number> => JSON.parse((await lines.next()).value ?? "").seq;
  expect([await read(), await read()]).toEqual([2, 3]);
  await dispatch(folder);
  expect([await read(), await read()]).toEqual([11, 12]);
  interruption.abort();
  expect(await following).toBe(130);
});

test("replay decides each call again, and tells which cannot be", async () => {
  const folder = await dispatched("{ directory: records }");
  const directory = ["--directory", join(folder, "records")];
  const same = await sandgate(["journal", "replay", ...directory]);
  expect(same).toMatchObject({ code: 0 });
  expect(same.stdout).toBe(
    "4 calls are decided as recorded, 0 differently\n1 calls failed before the policy decided\n",
  );
  // A record of another decision.
  const file = join(folder, "records", "journal-0000000000000001.jsonl");
  await writeFile(
    file,
    (await readFile(file, "utf8")).replace('"rules":["on the host"]', '"rules":["another"]'),
  );
  const different = await sandgate(["journal", "replay", ...directory]);
  expect(different.code).toBe(1);
  expect(different.stdout).toContain('record 2: recorded {"decision":"allow","rules":["another"]}');
});

test("sealed arguments are replayed until their session is forgotten, and the chain still holds", async () => {
  const folder = await dispatched("{ directory: records, arguments: sealed }");
  const directory = ["--directory", join(folder, "records")];
  const shown = await sandgate(["journal", "show", ...directory, "--json"]);
  expect(shown.stdout).not.toContain("secret words");
  expect((await sandgate(["journal", "replay", ...directory])).stdout).toContain(
    "4 calls are decided as recorded",
  );
  const { session } = JSON.parse(shown.stdout.split("\n")[1] ?? "");
  expect(await sandgate(["journal", "forget", ...directory, "--session", session])).toMatchObject({
    code: 0,
  });
  expect(await sandgate(["journal", "forget", ...directory, "--session", session])).toMatchObject({
    code: 1,
  });
  const replayed = await sandgate(["journal", "replay", ...directory]);
  expect(replayed.stdout).toContain("4 calls cannot be decided again: arguments forgotten");
  expect(await sandgate(["journal", "verify", join(folder, "records")])).toMatchObject({ code: 0 });
});

test.each([
  ["{ directory: records, sync: each }", "must be group or none"],
  ["{ directory: records, maxBytes: many }", "must be a size such as"],
  ["{ directory: records, maxBytes: 5 }", "maxBytes must be a whole number from 1024 on"],
  ["{ directory: records, key: missing.key }", "the file cannot be read"],
  ["{ directory: records, key: policy.yaml }", "key must be a signing key"],
  ["{ directory: records, anchors: [{}] }", "must have either command"],
  ["{ directory: records, anchors: [{ url: 'https://example.com' }] }", "anchors require a key"],
  ["{ directory: records, peers: { directory: shared, keys: [missing.pub] } }", "the file cannot be read"],
  ["{ directory: records, peers: { directory: shared, keys: [] } }", "must not be empty"],
])("a config with the journal %s is refused", async (journal, message) => {
  const folder = await createFolder({
    ...PROJECT,
    "sandgate.yaml": `${PROJECT["sandgate.yaml"]}\njournal: ${journal}\n`,
  });
  const { code, stderr, stdout } = await sandgate(["check", "--config", join(folder, "sandgate.yaml")]);
  expect(code).toBe(2);
  expect(stderr + stdout).toContain(message);
});

test("a journal whose key was replaced is archived with its earlier key", async () => {
  const folder = await createFolder({});
  const directory = join(folder, "records");
  const [earlier, current] = ["earlier", "current"].map((name) => join(folder, name)) as [string, string];
  for (const key of [earlier, current]) {
    await sandgate(["journal", "keygen", "--name", "example.com/j", "--out", key]);
    await writeRecords(directory, await readFile(key, "utf8"));
  }
  const archive = ["journal", "archive", "-d", directory, "--to", join(folder, "archive")];
  const options = ["--before", "2100-01-01T00:00:00Z", "--key", current];
  const refused = await sandgate([...archive, ...options]);
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain("(--earlier-key FILE)");
  const moved = await sandgate([...archive, ...options, "--earlier-key", `${earlier}.pub`]);
  expect(moved).toMatchObject({ code: 0, stdout: expect.stringMatching(/^records up to \d+ were moved/) });
});

test.each([
  [["journal"], "must be followed by"],
  [["journal", "show"], "there is no sandgate.yaml here: name a config with --config"],
  [["journal", "verify"], "DIR|FILE is missing"],
  [["journal", "verify", "x", "--checkpoint", "y"], "--checkpoint requires --key"],
  [["journal", "forget", "-d", "x"], "--session ID is missing"],
  [["journal", "keygen"], "--name NAME is missing"],
  [["journal", "keygen", "--name", "a b"], "a key's name"],
  [["journal", "show", "-d", "x", "--since", "soon"], "--since must be a time"],
  [["why", "-d", "x"], "CALL_ID is missing"],
])("sandgate %j is refused", async (argv, message) => {
  const { code, stderr } = await sandgate(argv);
  expect(code).toBe(2);
  expect(stderr).toContain(message);
});
