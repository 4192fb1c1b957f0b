import { randomBytes } from "node:crypto";
import { SEED_BYTES, START_MESSAGE_BYTES, TIME_BYTES } from "./guest/guest-programs.ts";

const TEXT_OFFSET = TIME_BYTES + SEED_BYTES;

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** A program, as a machine is told to start it. */
export interface ProgramStart {
  /** Stands in the line that says how the program ended. */
  readonly token: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly memoryBytes: number;
  readonly processes: number;
}

/**
 * Returns the message with which a call begins: the time, fresh random bytes, and a text for the machine's shell.
 *
 * @throws {Error} if the program's arguments and environment are too long, or contain what a shell cannot pass on.
 */
export function startMessage({ token, command, args, env, memoryBytes, processes }: ProgramStart): Buffer {
  const variables = Object.entries(env).map(([name, value]) => {
    if (!NAME.test(name)) throw new Error(`'${name}' cannot be the name of a variable in a virtual machine`);
    return `export ${name}=${quote(value)}`;
  });
  const settings = `token=${token} memory=${memoryBytes} processes=${processes}`;
  return messageOf([settings, ...variables, `set -- ${[command, ...args].map(quote).join(" ")}`].join("\n"));
}

/** Returns a message that has the machine run the code that a call needs, so that QEMU has translated it. */
export function rehearsalMessage(): Buffer {
  return messageOf("set --");
}

function messageOf(text: string): Buffer {
  // The shell removes line breaks at the end.
  const message = Buffer.alloc(START_MESSAGE_BYTES, "\n");
  const now = Date.now();
  message.writeBigInt64LE(BigInt(Math.floor(now / 1_000)), 0);
  message.writeBigInt64LE(BigInt((now % 1_000) * 1_000_000), 8);
  randomBytes(SEED_BYTES).copy(message, TIME_BYTES);
  const bytes = Buffer.from(text);
  if (bytes.length > START_MESSAGE_BYTES - TEXT_OFFSET)
    throw new Error("the program's arguments and environment are too long for a virtual machine");
  bytes.copy(message, TEXT_OFFSET);
  return message;
}

/** In single quotes, a shell interprets nothing. */
function quote(text: string): string {
  if (text.includes("\0")) throw new Error("an argument of the program contains a NUL character");
  return `'${text.replaceAll("'", "'\\''")}'`;
}
