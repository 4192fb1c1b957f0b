import type { LogLevel } from "../../log-level.ts";
import { monotonicClock, wallClock } from "./clocks.ts";
import { deniedInterface } from "./denied.ts";
import type { WasiGrant } from "./grant.ts";
import { LineWriter } from "./line-writer.ts";
import type { WasiMembers } from "./members.ts";
import { Pollable } from "./poll.ts";
import { insecure, insecureSeed, random } from "./random.ts";
import { InputStream, IoError, OutputStream } from "./streams.ts";

/** A component called `wasi:cli/exit`, which ends it. */
export class ExitError extends Error {
  override readonly name = "ExitError";
}

/** The WASI of one call, made from its grant. Nothing in it outlives the call. */
export class WasiHost {
  readonly #grant: WasiGrant;
  readonly #stdout: LineWriter;
  readonly #stderr: LineWriter;

  /** @param log Takes the lines of standard output (`info`) and standard error (`warn`). */
  constructor(grant: WasiGrant, log: (level: LogLevel, line: string) => void) {
    this.#grant = grant;
    this.#stdout = new LineWriter((line) => log("info", line));
    this.#stderr = new LineWriter((line) => log("warn", line));
  }

  /** What generated code links: each of the interfaces, by name without version. */
  imports(interfaceNames: readonly string[]): Readonly<Record<string, object>> {
    return Object.fromEntries(
      interfaceNames.map((name) => [name, deniedInterface(name, this.#members(name))]),
    );
  }

  /** What of an interface works for this call; the rest of it is denied. */
  #members(name: string): WasiMembers | undefined {
    const { clock, random: mayDraw } = this.#grant;
    switch (name) {
      case "wasi:cli/environment":
        return {
          getEnvironment: () => this.#grant.env,
          getArguments: () => [],
          initialCwd: () => undefined,
        };
      case "wasi:cli/exit":
        return { exit, exitWithCode: exit };
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
      case "wasi:io/error":
        return { Error: IoError };
      case "wasi:io/poll":
        return { Pollable, poll: Pollable.poll };
      case "wasi:io/streams":
        return { InputStream, OutputStream };
      case "wasi:filesystem/preopens":
        return { getDirectories: () => [] };
      case "wasi:filesystem/types":
        return { filesystemErrorCode: () => undefined };
      case "wasi:clocks/wall-clock":
        return clock ? wallClock : undefined;
      case "wasi:clocks/monotonic-clock":
        return clock ? monotonicClock : undefined;
      case "wasi:random/random":
        return mayDraw ? random : undefined;
      case "wasi:random/insecure":
        return mayDraw ? insecure : undefined;
      case "wasi:random/insecure-seed":
        return mayDraw ? insecureSeed : undefined;
      default:
        return undefined;
    }
  }

  /** Writes what the component wrote without a line end. */
  end(): void {
    this.#stdout.end();
    this.#stderr.end();
  }
}

function exit(): never {
  throw new ExitError("Tool exited instead of answering");
}
