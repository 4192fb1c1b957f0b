import { shown } from "../rendering/shown.ts";
import { UsageError } from "./errors.ts";
import { CONFIG, HELP, oneOf, parse } from "./parse-options.ts";

/** Where a journal is: its directory, or a config that has one. */
export type JournalPlace = { readonly directory: string } | { readonly config: string };

/** Which records are shown. */
export interface JournalSelection {
  readonly callId: string | undefined;
  readonly session: string | undefined;
  readonly tool: string | undefined;
  /** Milliseconds since the epoch. */
  readonly since: number | undefined;
}

/** A command on a journal. */
export type JournalCommand =
  | {
      readonly name: "journal verify";
      /** A directory, or files. */
      readonly paths: readonly string[];
      /** Files with copies of checkpoints. */
      readonly checkpoints: readonly string[];
      /** Files with verifier keys. */
      readonly keys: readonly string[];
    }
  | {
      readonly name: "journal show";
      readonly place: JournalPlace;
      readonly selection: JournalSelection;
      readonly isJson: boolean;
      /** Whether the calls are printed as cases of a policy test. */
      readonly isTest: boolean;
    }
  | {
      readonly name: "journal tail";
      readonly place: JournalPlace;
      readonly selection: JournalSelection;
      readonly isJson: boolean;
      /** Whether it waits for more records. */
      readonly follows: boolean;
    }
  | { readonly name: "journal replay"; readonly place: JournalPlace }
  | { readonly name: "journal forget"; readonly place: JournalPlace; readonly session: string }
  | {
      readonly name: "journal keygen";
      /** The name of the key. */
      readonly keyName: string;
      /** The file of the signing key; that of the verifier key ends in `.pub`. */
      readonly out: string;
    }
  | { readonly name: "why"; readonly place: JournalPlace; readonly callId: string };

const PLACE = { ...CONFIG, directory: { type: "string", short: "d" } } as const;
const SELECTION = {
  session: { type: "string" },
  tool: { type: "string" },
  since: { type: "string" },
  json: { type: "boolean" },
} as const;

/**
 * Parses the arguments after `journal`. Returns `undefined` if they ask for help.
 *
 * @throws {UsageError} if they are invalid.
 */
export function parseJournal([name, ...args]: readonly string[]): JournalCommand | undefined {
  switch (name) {
    case "verify":
      return parseVerify(args);
    case "show":
      return parseShow(args);
    case "tail":
      return parseTail(args);
    case "replay": {
      const { values } = parse(args, { ...HELP, ...PLACE }, 0);
      return values.help ? undefined : { name: "journal replay", place: placeOf(values) };
    }
    case "forget":
      return parseForget(args);
    case "keygen":
      return parseKeygen(args);
    case "--help":
    case "-h":
      return undefined;
    default:
      throw new UsageError(
        shown`'journal' must be followed by verify, show, tail, replay, forget or keygen, not '${name ?? ""}'`,
      );
  }
}

/** Like {@link parseJournal}, for the arguments after `why`. */
export function parseWhy(args: readonly string[]): JournalCommand | undefined {
  const { values, positionals } = parse(args, { ...HELP, ...PLACE }, 1);
  if (values.help) return undefined;
  const [callId] = positionals;
  if (callId === undefined) throw new UsageError(shown`CALL_ID is missing: the call to explain`);
  return { name: "why", place: placeOf(values), callId };
}

function parseVerify(args: readonly string[]): JournalCommand | undefined {
  const options = {
    checkpoint: { type: "string", multiple: true },
    key: { type: "string", multiple: true },
  } as const;
  const { values, positionals: paths } = parse(args, { ...HELP, ...options }, args.length);
  if (values.help) return undefined;
  if (paths.length === 0)
    throw new UsageError(shown`DIR is missing: the directory of the journal, or its files`);
  const { checkpoint: checkpoints = [], key: keys = [] } = values;
  if (checkpoints.length > 0 && keys.length === 0) throw new UsageError(shown`--checkpoint requires --key`);
  return { name: "journal verify", paths, checkpoints, keys };
}

function parseShow(args: readonly string[]): JournalCommand | undefined {
  const as = { as: { type: "string" } } as const;
  const { values, positionals } = parse(args, { ...HELP, ...PLACE, ...SELECTION, ...as }, 1);
  if (values.help) return undefined;
  const selection = selectionOf(values, positionals[0]);
  const isJson = values.json === true;
  const isTest = oneOf(["policy-test"], "--as", values.as) !== undefined;
  if (isJson && isTest)
    throw new UsageError(shown`--as policy-test prints YAML: it cannot be used with --json`);
  return { name: "journal show", place: placeOf(values), selection, isJson, isTest };
}

function parseTail(args: readonly string[]): JournalCommand | undefined {
  const follow = { follow: { type: "boolean", short: "f" } } as const;
  const { values } = parse(args, { ...HELP, ...PLACE, ...SELECTION, ...follow }, 0);
  if (values.help) return undefined;
  const selection = selectionOf(values, undefined);
  const { json: isJson = false, follow: follows = false } = values;
  return { name: "journal tail", place: placeOf(values), selection, isJson, follows };
}

function parseForget(args: readonly string[]): JournalCommand | undefined {
  const { values } = parse(args, { ...HELP, ...PLACE, session: { type: "string" } }, 0);
  if (values.help) return undefined;
  const { session } = values;
  if (session === undefined) throw new UsageError(shown`--session is missing: the session to forget`);
  return { name: "journal forget", place: placeOf(values), session };
}

function parseKeygen(args: readonly string[]): JournalCommand | undefined {
  const options = { name: { type: "string", short: "n" }, out: { type: "string", short: "o" } } as const;
  const { values } = parse(args, { ...HELP, ...options }, 0);
  if (values.help) return undefined;
  const { name: keyName, out = "journal.key" } = values;
  if (keyName === undefined) {
    throw new UsageError(shown`--name is missing: it identifies the journal, such as example.com/journal`);
  }
  return { name: "journal keygen", keyName, out };
}

function placeOf({ config, directory }: { config?: string; directory?: string }): JournalPlace {
  if (directory !== undefined && config === undefined) return { directory };
  if (config !== undefined && directory === undefined) return { config };
  throw new UsageError(
    shown`either --directory or --config is required: the journal, or a config that has one`,
  );
}

function selectionOf(
  { session, tool, since }: { session?: string; tool?: string; since?: string },
  callId: string | undefined,
): JournalSelection {
  const from = since === undefined ? undefined : Date.parse(since);
  if (Number.isNaN(from)) throw new UsageError(shown`--since must be a time such as 2026-01-31T12:00:00Z`);
  return { callId, session, tool, since: from };
}
