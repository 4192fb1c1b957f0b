import { MAX_DELAY_MS } from "../../base/timers.ts";
import type { ConfigProblem } from "../../config/problem.ts";
import {
  type CompiledShape,
  choice,
  compileShape,
  described,
  FLAG,
  mapOf,
  PATH,
  TEXT,
} from "../../config/shape.ts";
import type { ConfigEntry, ConfigSource } from "../../config/source.ts";
import { integer, oneOf, type Shape as Typed, type TypeOf, typed } from "../../json/shape.ts";
import { DEFAULT_MAX_WAIT_MS } from "../../sandboxes/contract/sandbox.ts";
import type { SandboxesOptions } from "../../sandboxes/open-sandboxes.ts";
import {
  checkCredentials,
  type ExecutorClientOptions,
} from "../../sandboxes/remote/executor-client/credentials.ts";
import { KEY_VALUE_DEFAULTS, MemoryKeyValue } from "../../tool/key-value-store.ts";
import { ISOLATIONS } from "../../tool/sandbox-mode.ts";
import { guardCommand, guardedPathBeside } from "./guard-code.ts";
import { readTextBeside, readToken, TOKEN } from "./token.ts";

const COUNT: Typed<number> = integer({ minimum: 1 });
const BYTES: Typed<number> = typed({ ...COUNT, title: "bytes" });

const MICROVM = mapOf({
  kernel: described(
    PATH,
    "The machines' kernel, from Debian's package `linux-image-cloud-amd64`. Default: the newest `/boot/vmlinuz-*-cloud-amd64`.",
  ),
  accelerator: described(
    choice(["auto", "kvm", "tcg"]),
    "How machines run: by the processor (`kvm`), translated by QEMU (`tcg`), or with KVM if that works (`auto`).",
    "auto",
  ),
  ready: described(integer({ minimum: 0 }), "How many machines are kept ready for the next calls.", 1),
  memoryBytes: described(
    BYTES,
    "The memory that all machines take together; one takes 224 MiB or more.",
    1_073_741_824,
  ),
  cacheDirectory: described(
    PATH,
    "Where booted machines are saved. Default: `sandgate/microvm` in the user's cache directory.",
  ),
});

/** The credentials for executors. Paths are relative to the file. */
const REMOTE = mapOf({
  signingKey: described(PATH, "The private key that signs requests, in PEM. Requires `keyId`."),
  keyId: described(TEXT, "The id under which executors know the public key. Requires `signingKey`."),
  token: described(TOKEN, "The bearer token of requests."),
  frames: described(FLAG, "Whether calls go over one connection for each executor that accepts it.", false),
  ca: described(PATH, "The certificate authorities to trust, in PEM. Default: those of Node.js."),
  cert: described(PATH, "The certificate for executors that ask for one, in PEM. Requires `key`."),
  key: described(PATH, "The private key of the certificate, in PEM. Requires `cert`."),
});

const SANDBOXES = mapOf({
  workers: described(
    mapOf({
      threads: described(
        typed<number>({ type: "integer", minimum: 1, maximum: 1_024, message: "must be from 1 to 1024" }),
        "How many threads each pool has. Default: the machine's available parallelism.",
      ),
      maxWaitMs: described(
        typed<number>({
          type: "integer",
          title: "milliseconds",
          minimum: 1,
          maximum: MAX_DELAY_MS,
          message: `must be from 1 to ${MAX_DELAY_MS}`,
        }),
        "How long a call may wait in all until it begins: for a free thread, for the memory of a virtual machine, or at an executor.",
        DEFAULT_MAX_WAIT_MS,
      ),
    }),
    "The pools of threads of host modules, WebAssembly and QuickJS: one each.",
  ),
  wasm: described(
    mapOf({
      cacheDirectory: described(
        PATH,
        "Where the digests of components that were validated are kept. Default: `sandgate/wasm` in the user's cache directory.",
      ),
    }),
    "The sandbox of WebAssembly components.",
  ),
  process: described(
    mapOf({
      isolation: described(
        oneOf(ISOLATIONS),
        "What must confine programs. Default: `namespaces`, or `landlock` where there are none.",
      ),
      bubblewrap: described(TEXT, "The absolute path of bubblewrap.", "/usr/bin/bwrap"),
    }),
    "The sandbox of programs.",
  ),
  microvm: described(MICROVM, "The sandbox of virtual machines."),
  keyValue: described(
    mapOf({
      maxKeys: described(COUNT, "How many keys a store can have.", KEY_VALUE_DEFAULTS.maxKeys),
      maxBytes: described(BYTES, "The size of a store, including keys.", KEY_VALUE_DEFAULTS.maxBytes),
      maxStores: described(
        COUNT,
        "How many stores all sessions have; the least recently opened are deleted first.",
        KEY_VALUE_DEFAULTS.maxStores,
      ),
    }),
    "Gives calls key-value stores in memory, which a grant can name. Default: such calls are refused.",
  ),
  remote: described(
    typed<TypeOf<typeof REMOTE>>({
      ...REMOTE,
      dependentRequired: { signingKey: ["keyId"], keyId: ["signingKey"], cert: ["key"], key: ["cert"] },
    }),
    "The credentials for executors, and how calls are sent to them. Default: no credentials.",
  ),
});

/** The shape of `sandboxes`: the options of `openSandboxes` that a file can contain. */
export const SANDBOXES_SHAPE: CompiledShape = compileShape(SANDBOXES);

/** Paths are relative to the file. */
type SandboxesEntry = TypeOf<typeof SANDBOXES>;

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
        options[name] === undefined ? [] : [[name, guardedPathBeside(entry.file, String(options[name]))]],
      ),
    ),
  });
  if (process?.bubblewrap !== undefined) guardCommand([process.bubblewrap]);
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
  { signingKey: file, keyId, token: tokenEntry, frames, ...files }: TypeOf<typeof REMOTE>,
  entry: ConfigEntry<SandboxesEntry>,
  problems: ConfigProblem[],
): Promise<ExecutorClientOptions> {
  const signingKey = file && (await readTextBeside(file, entry, ["remote", "signingKey"], problems));
  const tls: { ca?: string; cert?: string; key?: string } = {};
  for (const name of ["ca", "cert", "key"] as const) {
    const { [name]: path } = files;
    const text =
      path === undefined ? undefined : await readTextBeside(path, entry, ["remote", name], problems);
    if (text !== undefined) tls[name] = text;
    // Reports only the file that cannot be read, not that the other one lacks it.
    else if (path !== undefined) return {};
  }
  const token = tokenEntry && (await readToken(tokenEntry, entry, ["remote", "token"], problems));
  // Empty texts are passed on, so that they are reported: without them calls would go out unsigned.
  const credentials = {
    ...(signingKey !== undefined && keyId !== undefined && { signingKey, keyId }),
    ...(token !== undefined && { token }),
    ...(frames !== undefined && { frames }),
    ...tls,
  };
  try {
    checkCredentials(credentials);
    return credentials;
  } catch (error) {
    problems.push(entry.problem(["remote"], (error as TypeError).message));
    return {};
  }
}
