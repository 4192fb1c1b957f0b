import { type OptionNames, refuseUnknown } from "../base/unknown-names.ts";
import { guardRedaction } from "../redaction/guarded-redaction.ts";
import { Redaction } from "../redaction/redaction.ts";
import { type Anchor, checkAnchors } from "./checkpoints/anchors.ts";
import { MAX_PEERS } from "./checkpoints/checkpoint.ts";
import {
  readSigningKey,
  readVerifierKey,
  type SigningKey,
  type VerifierKey,
} from "./checkpoints/signed-note.ts";

/** Something about the journal itself that its operator has to know. */
export interface JournalNotice {
  /**
   * - `torn`: a half-written line at the end of the journal was moved to a file of its own
   * - `interrupted`: calls were running when the journal was last written to
   * - `unhealthy`: the journal cannot write, so no call runs
   * - `healthy`: the journal can write again
   * - `changed`: another process removed or changed a file that was written before
   * - `clock`: the clock was set back, so that records have the time of an earlier one; or it has reached that time again
   * - `checkpoint`: a checkpoint could not be signed or stored
   * - `anchor`: an anchor did not take a checkpoint
   * - `peer`: the checkpoint of another machine cannot be read or trusted, or shows that its journal was cut
   */
  readonly kind:
    | "torn"
    | "interrupted"
    | "unhealthy"
    | "healthy"
    | "changed"
    | "clock"
    | "checkpoint"
    | "anchor"
    | "peer";
  /** One line. */
  readonly message: string;
}

const NAMES: OptionNames<JournalOptions> = {
  directory: true,
  sync: true,
  redaction: true,
  maxBytes: true,
  key: true,
  anchors: true,
  peers: true,
  arguments: true,
  sources: true,
  onNotice: true,
};
const PEER_NAMES: OptionNames<JournalPeers> = { directory: true, keys: true };

/** The options of `openJournal`. */
export interface JournalOptions {
  /** The path of the journal's directory, which is created if it does not exist. It contains nothing but the journal. */
  readonly directory: string;
  /**
   * Whether a call waits until its record is on the disk (`group`: all records that wait are synced at once), or only
   * until the operating system has it (`none`: it survives the process, but not the machine). Default: `"group"`.
   */
  readonly sync?: "group" | "none";
  /** Hides secrets in the recorded arguments. Default: `new Redaction()`. */
  readonly redaction?: Redaction;
  /** The size in bytes from which on the journal is continued in a new file: at least 1,024. Default: 256 MiB. */
  readonly maxBytes?: number;
  /** The key that signs checkpoints: see `createJournalKeys`. Default: there are no checkpoints. */
  readonly key?: string;
  /** Where checkpoints are copied. Requires `key`. Default: nowhere. */
  readonly anchors?: readonly Anchor[];
  /** The journals of other machines, which checkpoints name. Requires `key`. Default: none. */
  readonly peers?: JournalPeers;
  /**
   * With `sealed`, the arguments of calls are stored encrypted in a file beside the journal, under a key for each session,
   * and the records have only their digests. Default: `"redacted"`: the records have the arguments.
   */
  readonly arguments?: "redacted" | "sealed";
  /**
   * Whether the records of sessions' calls say where each argument came from, which `sandgate policy learn` needs. It is not
   * possible with sealed arguments, whose names the records would show. Default: `false`.
   */
  readonly sources?: boolean;
  /** Receives what the operator has to know. Errors that it throws are ignored. Default: see `Journal.problem`. */
  readonly onNotice?: (notice: JournalNotice) => void;
}

/** The journals of other machines. */
export interface JournalPeers {
  /** The path of an existing directory that all machines share. Each one writes its newest checkpoint there. */
  readonly directory: string;
  /** The verifier keys of the other journals: at most 64, with different names. One's own key is ignored. */
  readonly keys: readonly string[];
}

/** Complete and checked options. */
export interface CheckedOptions extends Required<Omit<JournalOptions, "key" | "onNotice" | "peers">> {
  readonly key: SigningKey | undefined;
  readonly peers: { readonly directory: string; readonly keys: readonly VerifierKey[] } | undefined;
  readonly onNotice: (notice: JournalNotice) => void;
}

/** The default of `maxBytes`. */
export const DEFAULT_MAX_BYTES: number = 256 * 1_048_576;
const MIN_MAX_BYTES = 1_024;

/** @throws {TypeError} if an option is unknown or not valid. */
export function checkOptions(options: JournalOptions): CheckedOptions {
  refuseUnknown(options, NAMES, "a journal");
  if (options.peers !== undefined) refuseUnknown(options.peers, PEER_NAMES, "peers of a journal");
  const {
    directory,
    sync = "group",
    redaction = new Redaction(),
    maxBytes = DEFAULT_MAX_BYTES,
    key,
    anchors = [],
    peers,
    arguments: storage = "redacted",
    sources = false,
    onNotice = () => {},
  } = options;
  if (typeof directory !== "string" || directory === "") throw new TypeError("directory must be a path");
  if (sync !== "group" && sync !== "none") throw new TypeError('sync must be "group" or "none"');
  if (storage !== "redacted" && storage !== "sealed")
    throw new TypeError('arguments must be "redacted" or "sealed"');
  if (typeof sources !== "boolean") throw new TypeError("sources must be true or false");
  if (sources && storage === "sealed")
    throw new TypeError(
      "sources cannot be recorded beside sealed arguments: they would show the arguments' names",
    );
  if (!Number.isSafeInteger(maxBytes) || maxBytes < MIN_MAX_BYTES) {
    throw new TypeError(`maxBytes must be a whole number from ${MIN_MAX_BYTES} on`);
  }
  if (anchors.length > 0 && key === undefined)
    throw new TypeError("anchors require a key, which signs checkpoints");
  const signingKey = key === undefined ? undefined : readSigningKey(key);
  return {
    directory,
    sync,
    redaction: guardRedaction(redaction),
    maxBytes,
    arguments: storage,
    sources,
    onNotice,
    key: signingKey,
    anchors: checkAnchors(anchors),
    peers: peers && checkPeers(peers, signingKey),
  };
}

function checkPeers({ directory, keys }: JournalPeers, own: SigningKey | undefined): CheckedOptions["peers"] {
  if (own === undefined) throw new TypeError("peers require a key, which signs checkpoints");
  if (typeof directory !== "string" || directory === "")
    throw new TypeError("peers.directory must be a path");
  const peers = keys.map(readVerifierKey).filter(({ name, id }) => name !== own.name || id !== own.id);
  if (peers.length > MAX_PEERS) throw new TypeError(`peers.keys must have at most ${MAX_PEERS} keys`);
  const names = new Set([own.name, ...peers.map(({ name }) => name)]);
  if (names.size <= peers.length) throw new TypeError("each journal needs a key with a name of its own");
  return { directory, keys: peers };
}
