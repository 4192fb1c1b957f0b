import type { Changes } from "../../../../tool/changes.ts";
import type { LogLevel } from "../../../../tool/log-level.ts";
import { Workspace } from "../../../../workspace/workspace.ts";
import type { TaggedValue } from "../../abi/value.ts";
import { deniedInterface } from "../denied.ts";
import type { InterfaceMembers } from "../interface-members.ts";
import { monotonicClock, wallClock } from "./clocks.ts";
import { filesystemTypes, preopens } from "./filesystem/filesystem.ts";
import type { WasiGrant } from "./grant.ts";
import { LineWriter } from "./line-writer.ts";
import { Pollable } from "./poll.ts";
import { type RandomInterfaces, randomInterfaces } from "./random.ts";
import { InputStream, OutputStream } from "./streams.ts";

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
  /** What it changed; absent if it may change none, or has not used any. */
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

  /** Returns the members of an interface that work for this call. The others are denied. */
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
