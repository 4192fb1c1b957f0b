import { randomBytes } from "node:crypto";
import type { Readable } from "node:stream";
import { MESSAGE, MESSAGE_PARTS_BYTES, PROGRAM_PATHS, START_MESSAGE_BYTES } from "./guest/first-process.ts";
import { MICROVM_DEFAULTS } from "./microvm-limits.ts";

/** Directories in which a command without a slash is looked up. */
const PROGRAM_DIRECTORIES = ["/usr/local/bin", "/usr/bin", "/bin"];

/** Variables of every program. */
const ENVIRONMENT = { PATH: PROGRAM_DIRECTORIES.join(":"), HOME: "/tmp", LANG: "C.UTF-8" };

const NUMBER_BYTES = 8;

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** The command of a program that a machine starts. */
export interface ProgramStart {
  /** Marks the line that reports how the program ended. */
  readonly token: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly memoryBytes: number;
  readonly processes: number;
}

/**
 * Returns the message with which a call begins: the parts of `MESSAGE`, with fresh random bytes and the time.
 *
 * @throws {Error} if the program's arguments and environment are too long, or cannot be passed on.
 */
export function startMessage(start: ProgramStart): Buffer {
  const { token, command, args, memoryBytes, processes } = start;
  for (const name of Object.keys(start.env))
    if (!NAME.test(name)) throw new Error(`'${name}' cannot be the name of a variable in a virtual machine`);
  const env = Object.entries({ ...ENVIRONMENT, ...start.env }).map(([name, value]) => `${name}=${value}`);
  const paths = command.includes("/")
    ? [command]
    : PROGRAM_DIRECTORIES.map((directory) => `${directory}/${command}`);
  const message = new Message();
  message.put("token", Buffer.from(token));
  const hasLimits = memoryBytes !== MICROVM_DEFAULTS.memoryBytes || processes !== MICROVM_DEFAULTS.processes;
  message.putNumbers("hasLimits", [hasLimits ? 1 : 0]);
  message.put("memory", Buffer.from(`${memoryBytes}`.padEnd(MESSAGE.memory[1], "\n")));
  message.put("processes", Buffer.from(`${processes}`.padEnd(MESSAGE.processes[1], "\n")));
  message.putNumbers("lists", [message.addList([command, ...args]), message.addList(env)]);
  message.putNumbers(
    "paths",
    paths.slice(0, PROGRAM_PATHS).map((path) => message.addString(path)),
  );
  const failure = `The image has no program '${command}'\n`;
  message.putNumbers("failure", [message.addString(failure), Buffer.byteLength(failure)]);
  return message.finish();
}

/** Places strings and lists behind the parts of a message, and refers to them by their places in the message. */
class Message {
  readonly #bytes = Buffer.alloc(START_MESSAGE_BYTES);
  #end = MESSAGE_PARTS_BYTES;

  put(part: keyof typeof MESSAGE, data: Uint8Array): void {
    this.#bytes.set(data.subarray(0, MESSAGE[part][1]), MESSAGE[part][0]);
  }

  /** @param values Numbers of 64 bits, such as places. */
  putNumbers(part: keyof typeof MESSAGE, values: readonly number[]): void {
    for (const [index, value] of values.entries())
      this.#bytes.writeBigUInt64LE(BigInt(value), MESSAGE[part][0] + index * NUMBER_BYTES);
  }

  /** Returns the place of a string. */
  addString(text: string): number {
    if (text.includes("\0")) throw new Error("an argument of the program contains a NUL character");
    return this.#add(Buffer.from(`${text}\0`));
  }

  /** Returns the place of a list of strings. */
  addList(texts: readonly string[]): number {
    const list = Buffer.alloc((texts.length + 1) * NUMBER_BYTES);
    for (const [index, text] of texts.entries())
      list.writeBigUInt64LE(BigInt(this.addString(text)), index * NUMBER_BYTES);
    return this.#add(list);
  }

  /** Returns the message, with the time as it is now. */
  finish(): Buffer {
    const now = Date.now();
    this.putNumbers("time", [Math.floor(now / 1_000), (now % 1_000) * 1_000_000]);
    this.put("seed", randomBytes(MESSAGE.seed[1]));
    return this.#bytes;
  }

  #add(data: Buffer): number {
    const start = this.#end;
    this.#end += data.length;
    if (this.#end > START_MESSAGE_BYTES)
      throw new Error("the program's arguments and environment are too long for a virtual machine");
    data.copy(this.#bytes, start);
    return start;
  }
}

/** Maximum number of bytes that a machine may send about a call. */
const MAX_BYTES = 4_096;

/**
 * Waits for a line on the control port of a machine.
 *
 * @param read Parses a line; returns `undefined` for a line to ignore.
 * @returns the result of `read`; `undefined` if the machine sends 4 KiB without such a line. Does not settle
 *   if the machine ends.
 */
export function awaitLine<T>(
  control: Readable,
  read: (line: string) => T | undefined,
): Promise<T | undefined> {
  return new Promise((resolve) => {
    let text = "";
    let bytes = 0;
    const finish = (value: T | undefined): void => {
      control.off("data", onData);
      resolve(value);
    };
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      const lines = (text + chunk.toString("latin1")).split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) {
        const value = read(line);
        if (value === undefined) continue;
        finish(value);
        return;
      }
      if (bytes > MAX_BYTES) finish(undefined);
    };
    control.on("data", onData);
  });
}
