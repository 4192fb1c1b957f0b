import { shown } from "../../rendering/shown.ts";
import { CONFIG, type Command, defineCommand, JSON_OUTPUT, withConfig } from "../command.ts";
import type { JournalPlace } from "../commands/journal/place.ts";
import type { JournalSelection } from "../commands/journal/show.ts";
import { UsageError } from "../errors.ts";
import type { Terminal } from "../terminal.ts";

const PLACE = {
  directory: { type: "string", short: "d", value: "DIR", help: "the journal" },
  config: { ...CONFIG, help: "a config that has a journal; default: sandgate.yaml in this folder" },
} as const;

const SELECTION = {
  session: { type: "string", value: "ID", help: "only records of this session" },
  tool: { type: "string", value: "NAME", help: "only records of this tool" },
  since: { type: "string", value: "TIME", help: "only later records: 2026-01-31T12:00:00Z, for example" },
  ...JSON_OUTPUT,
} as const;

const ONE_PLACE = { options: ["directory", "config"] } as const;

const verify = defineCommand({
  name: "journal verify",
  endsAtOnce: true,
  summary: "finds what was changed, left out or cut off in a journal, or in those of several machines",
  arguments: {
    "DIR|FILE": {
      isMultiple: true,
      help: "the directory of the journal, those of the journals of several machines, or files of one journal",
    },
  },
  options: {
    key: {
      type: "string",
      multiple: true,
      value: "FILE",
      help: "a verifier key; without one, checkpoints are not checked",
    },
    checkpoint: {
      type: "string",
      multiple: true,
      value: "FILE",
      help: "a file with copies of checkpoints; requires --key",
    },
  },
  exitCodes: { 1: "a journal contradicts itself or another one, or is absent" },
  read: ({ key: keys, checkpoint: checkpoints }, { "DIR|FILE": paths }) => {
    if (checkpoints.length > 0 && keys.length === 0) throw new UsageError(shown`--checkpoint requires --key`);
    return { paths, checkpoints, keys };
  },
  run: async (options, terminal) =>
    (await import("../commands/journal/manage.ts")).verifyFiles(options, terminal),
});

const show = defineCommand({
  name: "journal show",
  endsAtOnce: true,
  summary: "prints the records of a journal",
  arguments: { CALL_ID: { isOptional: true, help: "only records of this call" } },
  options: {
    ...PLACE,
    ...SELECTION,
    as: {
      type: "string",
      value: "policy-test",
      choices: ["policy-test"],
      help: "prints the calls as cases of a policy test, in YAML",
    },
  },
  alternatives: [ONE_PLACE, { options: ["json", "as"] }],
  read: ({ json: isJson, as, ...options }, { CALL_ID }) => ({
    place: options,
    selection: selectionOf(options, CALL_ID),
    isJson,
    isTest: as !== undefined,
  }),
  run: async (options, terminal) =>
    (await import("../commands/journal/show.ts")).show(await placed(options, terminal), terminal),
});

const tail = defineCommand({
  name: "journal tail",
  summary: "prints the last records of a journal",
  arguments: {},
  options: {
    ...PLACE,
    ...SELECTION,
    follow: { type: "boolean", short: "f", help: "also prints records as they are added, until interrupted" },
  },
  alternatives: [ONE_PLACE],
  read: ({ json: isJson, follow: follows, ...options }) => ({
    place: options,
    selection: selectionOf(options, undefined),
    isJson,
    follows,
  }),
  run: async (options, terminal) =>
    (await import("../commands/journal/show.ts")).tail(await placed(options, terminal), terminal),
});

const replay = defineCommand({
  name: "journal replay",
  endsAtOnce: true,
  summary: "decides each recorded call again",
  arguments: {},
  options: PLACE,
  alternatives: [ONE_PLACE],
  exitCodes: { 1: "a decision differs from the recorded one" },
  read: (options) => ({ place: options }),
  run: async (options, terminal) =>
    (await import("../commands/journal/manage.ts")).replay(await placed(options, terminal), terminal),
});

const forget = defineCommand({
  name: "journal forget",
  summary: "deletes the key of a session's sealed arguments",
  arguments: {},
  options: {
    ...PLACE,
    session: { type: "string", required: true, value: "ID", help: "the session to forget" },
  },
  alternatives: [ONE_PLACE],
  exitCodes: { 1: "there is no such key" },
  read: ({ session, ...options }) => ({ place: options, session }),
  run: async (options, terminal) =>
    (await import("../commands/journal/manage.ts")).forget(await placed(options, terminal), terminal),
});

const archive = defineCommand({
  name: "journal archive",
  endsAtOnce: true,
  summary: "moves old files of a journal to another directory, and prints where the chain now begins",
  arguments: {},
  options: {
    ...PLACE,
    to: { type: "string", required: true, value: "DIR", help: "where the files are moved to" },
    before: {
      type: "string",
      required: true,
      value: "TIME",
      help: "only files all of whose records are earlier: 2026-01-31T12:00:00Z, for example",
    },
    key: {
      type: "string",
      value: "FILE",
      help: "the journal's signing key, which signs where the chain begins; default: the config's",
    },
    "earlier-key": {
      type: "string",
      multiple: true,
      value: "FILE",
      help: "a previous verifier key of the journal",
    },
  },
  alternatives: [ONE_PLACE],
  read: ({ to, before, key: keyFile, "earlier-key": earlierKeys, ...options }) => {
    const time = Date.parse(before);
    if (Number.isNaN(time)) throw new UsageError(shown`--before must be a time such as 2026-01-31T12:00:00Z`);
    return { place: options, to, before: time, keyFile, earlierKeys };
  },
  run: async (options, terminal) =>
    (await import("../commands/journal/manage.ts")).archive(await placed(options, terminal), terminal),
});

const keygen = defineCommand({
  name: "journal keygen",
  summary: "creates the keys that sign and verify checkpoints",
  arguments: {},
  options: {
    name: {
      type: "string",
      short: "n",
      required: true,
      value: "NAME",
      help: "it identifies the journal, such as example.com/journal",
    },
    out: {
      type: "string",
      short: "o",
      value: "FILE",
      help: "the file of the signing key; the verifier key is written to FILE.pub; default: journal.key",
    },
  },
  read: ({ name: keyName, out = "journal.key" }) => ({ keyName, out }),
  run: async (options, terminal) => (await import("../commands/journal/manage.ts")).keygen(options, terminal),
});

/** `sandgate journal …` */
export const JOURNAL_COMMANDS: readonly Command[] = [verify, show, tail, replay, archive, forget, keygen];

/** `sandgate why` */
export const why: Command = defineCommand({
  name: "why",
  endsAtOnce: true,
  summary: "prints rules, near misses, grant and receipt of a recorded call",
  arguments: { CALL_ID: { help: "the call to explain" } },
  options: {
    ...PLACE,
    session: { type: "string", value: "ID", help: "only calls of this session" },
    since: {
      type: "string",
      value: "TIME",
      help: "all calls since then, such as 2026-01-31T12:00:00Z; default: only the last one with this id",
    },
  },
  alternatives: [ONE_PLACE],
  exitCodes: { 1: "there is no such call" },
  read: (options, { CALL_ID: callId }) => ({
    place: options,
    selection: { ...selectionOf({ ...options, tool: undefined }, callId), callId },
  }),
  run: async (options, terminal) =>
    (await import("../commands/journal/show.ts")).why(await placed(options, terminal), terminal),
});

type Given<Names extends string> = Readonly<Record<Names, string | undefined>>;

/** Puts the place of the journal into the options of a command: its directory, or the config that names it. */
async function placed<Options extends { readonly place: Given<"config" | "directory"> }>(
  options: Options,
  terminal: Terminal,
): Promise<Omit<Options, "place"> & { readonly place: JournalPlace }> {
  const { directory, config } = options.place;
  const place = directory === undefined ? await withConfig({ config }, "reads", terminal) : { directory };
  return { ...options, place };
}

function selectionOf(
  { session, tool, since }: Given<"session" | "tool" | "since">,
  callId: string | undefined,
): JournalSelection {
  const from = since === undefined ? undefined : Date.parse(since);
  if (Number.isNaN(from)) throw new UsageError(shown`--since must be a time such as 2026-01-31T12:00:00Z`);
  return { callId, session, tool, since: from };
}
