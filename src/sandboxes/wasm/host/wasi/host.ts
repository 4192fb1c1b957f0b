import { loadCrypto } from "../../../../base/load-crypto.ts";
import type { Changes } from "../../../../tool/changes.ts";
import type { LogLevel } from "../../../../tool/streamed.ts";
import { Workspace } from "../../../../workspace/workspace.ts";
import type { ComponentRecord, TaggedValue } from "../../abi/value.ts";
import { deniedInterface, type InterfaceMembers, MisuseError } from "../interface-members.ts";
import { descriptorOf, filesystemErrorCode } from "./descriptor.ts";
import type { WasiGrant } from "./grant.ts";
import { InputStream, OutputStream, Pollable } from "./streams.ts";

/** The maximum number of random bytes per function call. */
const MAX_BYTES = 65_536n;

/** The interfaces of `wasi:random`. All use the same source, so insecure random numbers are as good as secure ones. */
interface RandomInterfaces {
  readonly random: InterfaceMembers;
  readonly insecure: InterfaceMembers;
  readonly insecureSeed: InterfaceMembers;
}

const NANOSECONDS_PER_SECOND = 1_000_000_000n;

const NANOSECONDS_PER_MS = 1_000_000n;

/** The length in UTF-16 code units from which a line is split. */
const MAX_LINE_LENGTH = 8_192;

/** Splits a stream of UTF-8 bytes into lines, and skips empty ones. */
class LineWriter {
  readonly #onLine: (line: string) => void;
  readonly #decoder = new TextDecoder();
  #line = "";

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  write(bytes: Uint8Array): void {
    const lines = (this.#line + this.#decoder.decode(bytes, { stream: true })).split("\n");
    this.#line = lines.pop() ?? "";
    for (const line of lines) if (line !== "") this.#onLine(line);
    if (this.#line.length > MAX_LINE_LENGTH) this.end();
  }

  /** Emits the last line if it does not end with a newline. */
  end(): void {
    if (this.#line !== "") this.#onLine(this.#line);
    this.#line = "";
  }
}

/** `wasi:filesystem/types`. Its resources can only be obtained from the granted directories. */
const filesystemTypes: InterfaceMembers = Object.freeze({ filesystemErrorCode });

/** A component called `wasi:cli/exit`. Ends the call. */
export class ExitError extends Error {
  override readonly name = "ExitError";
  /** Whether it exited with success. */
  readonly success: boolean;

  constructor(success: boolean) {
    super("Tool exited without returning a result");
    this.success = success;
  }
}

/** The changes that a call made to files. */
export interface FileChanges {
  readonly writtenBytes: number;
  /** Whether the call may have changed, created or removed files. */
  readonly hasChangedFiles: boolean;
  /** Its changes of files; absent if it must not change files, or has not used any. */
  readonly changes?: Changes | undefined;
}

/** Provides WASI to one instance, according to the grant that all its calls have. */
export class WasiHost implements Disposable {
  readonly #grant: WasiGrant;
  readonly #random: RandomInterfaces;
  readonly #stdout: LineWriter;
  readonly #stderr: LineWriter;
  readonly #interfaces = new Map<string, object>();
  /** Opened on first use. */
  #workspace: Workspace | undefined;

  /** @param log Receives the lines of standard output (`info`) and standard error (`warn`). */
  constructor(grant: WasiGrant, log: (level: LogLevel, line: string) => void) {
    this.#grant = grant;
    this.#random = randomInterfaces(grant.randomSeed);
    this.#stdout = new LineWriter((line) => log("info", line));
    this.#stderr = new LineWriter((line) => log("warn", line));
  }

  /** Returns an interface by its name without version. */
  interface(name: string): object {
    const known = this.#interfaces.get(name);
    if (known !== undefined) return known;
    const made = deniedInterface(name, this.#members(name));
    this.#interfaces.set(name, made);
    return made;
  }

  /** Returns the members of an interface that are granted to this call. The other ones are denied. */
  #members(name: string): InterfaceMembers | undefined {
    const { clock, random, frozenClock } = this.#grant;
    switch (name) {
      case "wasi:cli/environment":
        return {
          getEnvironment: () => this.#grant.env,
          getArguments: () => [],
          initialCwd: () => undefined,
        };
      case "wasi:cli/exit":
        return { exit, exitWithCode };
      case "wasi:cli/stdin":
        return { getStdin: () => new InputStream() };
      case "wasi:cli/stdout":
        return { getStdout: () => OutputStream.to((bytes) => this.#stdout.write(bytes)) };
      case "wasi:cli/stderr":
        return { getStderr: () => OutputStream.to((bytes) => this.#stderr.write(bytes)) };
      case "wasi:cli/terminal-stdin":
        return { getTerminalStdin: () => undefined };
      case "wasi:cli/terminal-stdout":
        return { getTerminalStdout: () => undefined };
      case "wasi:cli/terminal-stderr":
        return { getTerminalStderr: () => undefined };
      // Their methods are called on resources that other functions return. The classes are not exposed, because they
      // have methods that a component must not call.
      case "wasi:io/error":
      case "wasi:io/streams":
        return {};
      case "wasi:io/poll":
        return { poll: Pollable.poll };
      case "wasi:filesystem/preopens":
        return preopens(this.#openWorkspace());
      case "wasi:filesystem/types":
        return filesystemTypes;
      case "wasi:clocks/wall-clock":
        return clock ? wallClock(frozenClock) : undefined;
      case "wasi:clocks/monotonic-clock":
        return clock ? monotonicClock(frozenClock !== undefined) : undefined;
      case "wasi:random/random":
        return random ? this.#random.random : undefined;
      case "wasi:random/insecure":
        return random ? this.#random.insecure : undefined;
      case "wasi:random/insecure-seed":
        return random ? this.#random.insecureSeed : undefined;
      default:
        return undefined;
    }
  }

  #openWorkspace(): Workspace | undefined {
    const { fs, fileBytes } = this.#grant;
    if (fs.length > 0) this.#workspace ??= new Workspace(fs, fileBytes);
    return this.#workspace;
  }

  /** Ends a call. Logs output that did not end with a newline, and resets the limit of file changes. */
  end(): FileChanges {
    this.#stdout.end();
    this.#stderr.end();
    const { writtenBytes = 0, hasChanged = false, changes } = this.#workspace ?? {};
    this.#workspace?.refill();
    return { writtenBytes, hasChangedFiles: hasChanged, changes };
  }

  [Symbol.dispose](): void {
    this.#workspace?.[Symbol.dispose]();
  }
}

function exit(status: TaggedValue): never {
  throw new ExitError(status.tag === "ok");
}

function exitWithCode(code: number): never {
  throw new ExitError(code === 0);
}

/** Returns `wasi:filesystem/preopens` with the granted directories. */
function preopens(workspace: Workspace | undefined): InterfaceMembers {
  return {
    getDirectories: () =>
      workspace?.directories.map(({ at, directory }) => [descriptorOf(directory.share()), at]) ?? [],
  };
}

/**
 * Returns `wasi:clocks/wall-clock`.
 *
 * @param frozenMs The fixed time of the clock, in ms since the epoch; `undefined` for the current time.
 */
function wallClock(frozenMs: number | undefined): InterfaceMembers {
  return {
    now: () => datetime(BigInt(frozenMs ?? Date.now()) * NANOSECONDS_PER_MS),
    resolution: () => datetime(NANOSECONDS_PER_MS),
  };
}

/** Returns the record `datetime`, which cannot represent times before the epoch. They become the epoch. */
function datetime(ns: bigint): ComponentRecord {
  const known = ns > 0n ? ns : 0n;
  return {
    seconds: known / NANOSECONDS_PER_SECOND,
    nanoseconds: Number(known % NANOSECONDS_PER_SECOND),
  };
}

/**
 * Returns `wasi:clocks/monotonic-clock`.
 *
 * @param isFrozen Whether the clock is always 0. Waiting returns at once then, because the time would never come.
 */
function monotonicClock(isFrozen: boolean): InterfaceMembers {
  const now = (): bigint => (isFrozen ? 0n : process.hrtime.bigint());
  return {
    now,
    resolution: () => 1n,
    subscribeInstant: (when: bigint) => (isFrozen ? new Pollable() : Pollable.at(when)),
    subscribeDuration: (ns: bigint) => (isFrozen ? new Pollable() : Pollable.at(now() + ns)),
  };
}

/**
 * Returns the interfaces of `wasi:random` for one instance.
 *
 * @param seed The same seed gives the same numbers. If `undefined`, they are unpredictable.
 */
function randomInterfaces(seed: string | undefined): RandomInterfaces {
  const draw = seed === undefined ? (count: number) => loadCrypto().randomBytes(count) : seededSource(seed);
  const bytes = (count: bigint): Uint8Array => {
    // The interface cannot return fewer bytes than requested, so this ends the call.
    if (count > MAX_BYTES) {
      throw new MisuseError(
        "wasi:random/random",
        `it asked for ${count} random bytes at once: at most ${MAX_BYTES} are allowed`,
      );
    }
    return Uint8Array.from(draw(Number(count)));
  };
  const u64 = (): bigint => draw(8).readBigUInt64LE();
  return {
    random: { getRandomBytes: bytes, getRandomU64: u64 },
    insecure: { getInsecureRandomBytes: bytes, getInsecureRandomU64: u64 },
    insecureSeed: { insecureSeed: () => [u64(), u64()] },
  };
}

/** Returns the key stream of a cipher whose key is the seed's digest. */
function seededSource(seed: string): (count: number) => Buffer {
  const { createCipheriv, createHash } = loadCrypto();
  const key = createHash("sha256").update(seed).digest();
  const cipher = createCipheriv("aes-256-ctr", key, Buffer.alloc(16));
  return (count) => cipher.update(Buffer.alloc(count));
}
