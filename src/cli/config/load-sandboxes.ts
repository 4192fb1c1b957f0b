import type { ConfigProblem } from "../../config/problem.ts";
import { compileShape, type Shape } from "../../config/shape.ts";
import type { ConfigSource } from "../../config/source.ts";
import type { JsonObject } from "../../json/value.ts";
import { MemoryKeyValue, type MemoryKeyValueOptions } from "../../key-value/memory-key-value.ts";
import { MAX_WALL_TIME_MS } from "../../policy/grant/limits.ts";
import type { SandboxesOptions } from "../../sandboxes/open-sandboxes.ts";
import {
  checkCredentials,
  type ExecutorCredentials,
} from "../../sandboxes/remote/executor-client/credentials.ts";
import { absolutePathBeside } from "./config-path.ts";
import { readTextBeside, readToken, TOKEN, type TokenEntry } from "./token.ts";

const TEXT: JsonObject = { type: "string", minLength: 1 };
const COUNT: JsonObject = { type: "integer", minimum: 1 };

function map(properties: JsonObject): JsonObject {
  return { type: "object", properties, additionalProperties: false };
}

/** The `sandboxes` of a config: the options of `openSandboxes`, as far as a file can hold them. */
const SANDBOXES_SHAPE: Shape = compileShape(
  map({
    workers: map({
      threads: { type: "integer", minimum: 1, maximum: 1_024, message: "must be from 1 to 1024" },
      maxWaitMs: {
        type: "integer",
        minimum: 1,
        maximum: MAX_WALL_TIME_MS,
        message: `must be from 1 to ${MAX_WALL_TIME_MS}`,
      },
    }),
    wasm: map({ cacheDirectory: TEXT }),
    keyValue: map({ maxKeys: COUNT, maxBytes: COUNT, maxStores: COUNT }),
    remote: {
      ...map({ signingKey: TEXT, keyId: TEXT, token: TOKEN }),
      dependentRequired: { signingKey: ["keyId"], keyId: ["signingKey"] },
    },
  }),
);

/** A value of the {@link SANDBOXES_SHAPE}. Paths are relative to the file. */
interface SandboxesEntry extends Pick<SandboxesOptions, "workers" | "wasm"> {
  /** Bounds of the stores in this process's memory. */
  readonly keyValue?: MemoryKeyValueOptions;
  readonly remote?: RemoteEntry;
}

interface RemoteEntry {
  /** The path of the private key in PEM. */
  readonly signingKey?: string;
  readonly keyId?: string;
  readonly token?: TokenEntry;
}

/**
 * Loads the `sandboxes` of a config, and the key and token that they name.
 *
 * @param problems Receives every problem.
 */
export async function loadSandboxOptions(
  source: ConfigSource,
  problems: ConfigProblem[],
): Promise<SandboxesOptions> {
  if (source.at(["sandboxes"]) === undefined) return {};
  const flaws = source.check(SANDBOXES_SHAPE, ["sandboxes"]);
  problems.push(...flaws);
  if (flaws.length > 0) return {};
  const { workers, wasm, keyValue, remote } = source.at(["sandboxes"]) as unknown as SandboxesEntry;
  const directory = wasm?.cacheDirectory;
  return {
    ...(workers && { workers }),
    ...(directory && { wasm: { cacheDirectory: absolutePathBeside(source.file, directory) } }),
    ...(keyValue && { keyValue: new MemoryKeyValue(keyValue) }),
    ...(remote && { remote: await loadCredentials(remote, source, problems) }),
  };
}

async function loadCredentials(
  { signingKey: file, keyId, token: tokenEntry }: RemoteEntry,
  source: ConfigSource,
  problems: ConfigProblem[],
): Promise<ExecutorCredentials> {
  const path = ["sandboxes", "remote"];
  const signingKey = file && (await readTextBeside(file, source, [...path, "signingKey"], problems));
  const token = tokenEntry && (await readToken(tokenEntry, source, [...path, "token"], problems));
  // An empty one is one that is wrong: whoever names it wants calls to carry it.
  const credentials = {
    ...(signingKey !== undefined && keyId !== undefined && { signingKey, keyId }),
    ...(token !== undefined && { token }),
  };
  try {
    checkCredentials(credentials);
    return credentials;
  } catch (error) {
    problems.push(source.problem(path, (error as TypeError).message));
    return {};
  }
}
