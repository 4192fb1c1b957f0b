import { MAX_DELAY_MS } from "../../base/timers/deadline-timer.ts";
import type { ConfigProblem } from "../../config/problem.ts";
import { type CompiledShape, compileShape, mapOf, TEXT } from "../../config/shape.ts";
import type { ConfigEntry, ConfigSource } from "../../config/source.ts";
import type { JsonObject } from "../../json/value.ts";
import { MemoryKeyValue, type MemoryKeyValueOptions } from "../../key-value/memory-key-value.ts";
import type { SandboxesOptions } from "../../sandboxes/open-sandboxes.ts";
import {
  checkCredentials,
  type ExecutorCredentials,
} from "../../sandboxes/remote/executor-client/credentials.ts";
import { ISOLATIONS } from "../../tool/isolation.ts";
import { absolutePathBeside } from "./config-path.ts";
import { readTextBeside, readToken, TOKEN, type TokenEntry } from "./server/token.ts";

const COUNT: JsonObject = { type: "integer", minimum: 1 };

/** The shape of `sandboxes`: the options of `openSandboxes` that a file can hold. */
export const SANDBOXES_SHAPE: CompiledShape = compileShape(
  mapOf({
    workers: mapOf({
      threads: { type: "integer", minimum: 1, maximum: 1_024, message: "must be from 1 to 1024" },
      maxWaitMs: {
        type: "integer",
        minimum: 1,
        maximum: MAX_DELAY_MS,
        message: `must be from 1 to ${MAX_DELAY_MS}`,
      },
    }),
    wasm: mapOf({ cacheDirectory: TEXT }),
    process: mapOf({ isolation: { enum: [...ISOLATIONS] }, bubblewrap: TEXT }),
    microvm: mapOf({
      kernel: TEXT,
      accelerator: { type: "string", enum: ["auto", "kvm", "tcg"] },
      ready: { type: "integer", minimum: 0 },
      memoryBytes: COUNT,
      cacheDirectory: TEXT,
    }),
    keyValue: mapOf({ maxKeys: COUNT, maxBytes: COUNT, maxStores: COUNT }),
    remote: {
      ...mapOf({ signingKey: TEXT, keyId: TEXT, token: TOKEN }),
      dependentRequired: { signingKey: ["keyId"], keyId: ["signingKey"] },
    },
  }),
);

/** A value of the {@link SANDBOXES_SHAPE}. Paths are relative to the file. */
interface SandboxesEntry extends Pick<SandboxesOptions, "workers" | "wasm" | "process" | "microvm"> {
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
  const entry = source.read<SandboxesEntry>(SANDBOXES_SHAPE, problems, ["sandboxes"]);
  if (entry === undefined) return {};
  const { workers, wasm, process, microvm, keyValue, remote } = entry.value;
  const absolute = <Options extends object>(options: Options, ...names: (keyof Options)[]): Options => ({
    ...options,
    ...Object.fromEntries(
      names.flatMap((name) =>
        options[name] === undefined ? [] : [[name, absolutePathBeside(entry.file, String(options[name]))]],
      ),
    ),
  });
  return {
    ...(workers && { workers }),
    ...(process && { process }),
    ...(wasm && { wasm: absolute(wasm, "cacheDirectory") }),
    ...(microvm && { microvm: absolute(microvm, "kernel", "cacheDirectory") }),
    ...(keyValue && { keyValue: new MemoryKeyValue(keyValue) }),
    ...(remote && { remote: await loadCredentials(remote, entry, problems) }),
  };
}

async function loadCredentials(
  { signingKey: file, keyId, token: tokenEntry }: RemoteEntry,
  entry: ConfigEntry<SandboxesEntry>,
  problems: ConfigProblem[],
): Promise<ExecutorCredentials> {
  const signingKey = file && (await readTextBeside(file, entry, ["remote", "signingKey"], problems));
  const token = tokenEntry && (await readToken(tokenEntry, entry, ["remote", "token"], problems));
  // Empty texts are passed on, so that they are reported: without them calls would go out unsigned.
  const credentials = {
    ...(signingKey !== undefined && keyId !== undefined && { signingKey, keyId }),
    ...(token !== undefined && { token }),
  };
  try {
    checkCredentials(credentials);
    return credentials;
  } catch (error) {
    problems.push(entry.problem(["remote"], (error as TypeError).message));
    return {};
  }
}
