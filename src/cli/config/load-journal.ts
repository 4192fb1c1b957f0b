import { guardFiles } from "../../base/guarded-files.ts";
import { parseSize, SIZE_FORM } from "../../base/units.ts";
import type { ConfigProblem } from "../../config/problem.ts";
import { type CompiledShape, compileShape, described, FLAG, mapOf, PATH, SIZE } from "../../config/shape.ts";
import type { ConfigEntry, ConfigSource } from "../../config/source.ts";
import type { Anchor } from "../../journal/checkpoints/anchors.ts";
import {
  checkOptions,
  DEFAULT_MAX_BYTES,
  type JournalOptions,
  type JournalPeers,
} from "../../journal/options.ts";
import { journalFiles } from "../../journal/storage/file-names.ts";
import { type TypeOf, typed } from "../../json/shape.ts";
import { absolutePathBeside, guardCommand } from "./guard-code.ts";
import { defaultFile } from "./load-sessions.ts";
import { RECEIVER, readTextBeside } from "./token.ts";

const JOURNAL = mapOf({
  directory: described(
    PATH,
    "The directory of the journal, which is created if it does not exist. Default: `journal` beside the config, or in the `StateDirectory` of a systemd unit.",
  ),
  sync: described(
    typed<"group" | "none">({ enum: ["group", "none"], message: "must be group or none" }),
    "Whether a call waits until its record is on the disk, or only until the operating system has it.",
    "group",
  ),
  maxBytes: described(
    SIZE,
    "The size from which on the journal is continued in a new file, at least `1KiB`.",
    DEFAULT_MAX_BYTES,
  ),
  key: described(
    PATH,
    "The signing key of `sandgate journal keygen`, which signs checkpoints. Default: there are no checkpoints.",
  ),
  anchors: described(
    typed<readonly Anchor[]>({ type: "array", items: RECEIVER }),
    "Where checkpoints are copied. Requires `key`. Default: nowhere.",
  ),
  peers: described(
    mapOf(
      {
        directory: described(PATH, "An existing directory that all machines share."),
        keys: described(
          typed<readonly string[]>({ type: "array", items: PATH, minItems: 1 }),
          "The verifier keys of the other journals; its own is ignored.",
        ),
      },
      ["directory", "keys"],
    ),
    "The journals of other machines, whose newest checkpoints its own ones name. Requires `key`. Default: none.",
  ),
  arguments: described(
    typed<"redacted" | "sealed">({ enum: ["redacted", "sealed"], message: "must be redacted or sealed" }),
    "Whether records have the arguments of calls without secrets, or only their digests, while a file beside the journal has them encrypted.",
    "redacted",
  ),
  sources: described(
    FLAG,
    "Whether the records of sessions' calls say where each argument came from, which `sandgate policy learn` needs.",
    false,
  ),
});

/** The shape of `journal`. */
export const JOURNAL_SHAPE: CompiledShape = compileShape(JOURNAL);

/** A value of the {@link JOURNAL_SHAPE}. Paths are relative to the file. */
type JournalConfig = TypeOf<typeof JOURNAL>;

/**
 * Loads the `journal` of a config, and the key that it names.
 *
 * @param problems Receives every problem.
 * @returns `undefined` if the config has no journal, or if it has errors.
 */
export async function loadJournalOptions(
  source: ConfigSource,
  problems: ConfigProblem[],
): Promise<JournalOptions | undefined> {
  if (source.at(["journal"]) === undefined) return undefined;
  const entry = source.read<JournalConfig>(JOURNAL_SHAPE, problems, ["journal"]);
  if (entry === undefined) return undefined;
  const { directory = defaultFile("journal"), maxBytes, key: keyFile, peers: given, ...others } = entry.value;
  const key = keyFile === undefined ? undefined : await readTextBeside(keyFile, entry, ["key"], problems);
  const bytes = maxBytes === undefined ? undefined : parseSize(maxBytes);
  if (maxBytes !== undefined && bytes === undefined) {
    problems.push(entry.problem(["maxBytes"], `must be ${SIZE_FORM}`));
    return undefined;
  }
  const peers = given && (await loadPeers(given, entry, problems));
  if ((keyFile !== undefined && key === undefined) || (given !== undefined && peers === undefined))
    return undefined;
  const place = absolutePathBeside(entry.file, directory);
  guardFiles(journalFiles(place));
  for (const anchor of others.anchors ?? []) if ("command" in anchor) guardCommand(anchor.command);
  if (peers) guardFiles([{ path: peers.directory, access: "read", isFolder: true }]);
  const options: JournalOptions = {
    ...others,
    directory: place,
    ...(bytes !== undefined && { maxBytes: bytes }),
    ...(key !== undefined && { key }),
    ...(peers && { peers }),
  };
  try {
    checkOptions(options);
    return options;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    problems.push(entry.problem([], error.message));
    return undefined;
  }
}

async function loadPeers(
  { directory, keys }: NonNullable<JournalConfig["peers"]>,
  entry: ConfigEntry<JournalConfig>,
  problems: ConfigProblem[],
): Promise<JournalPeers | undefined> {
  const texts = await Promise.all(
    keys.map((file, index) => readTextBeside(file, entry, ["peers", "keys", index], problems)),
  );
  if (!texts.every((text) => text !== undefined)) return undefined;
  return { directory: absolutePathBeside(entry.file, directory), keys: texts };
}
