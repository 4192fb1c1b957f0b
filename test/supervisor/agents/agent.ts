/**
 * An agent of the tests. `SANDGATE_AGENT` says what it does, `SANDGATE_FD` over which descriptor: 3, or the standard streams.
 * It imports nothing of the project: all that it sees is its own folder.
 */
import { closeSync } from "node:fs";
import { Socket } from "node:net";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";

const mode = process.env["SANDGATE_AGENT"] ?? "";
const channel = process.env["SANDGATE_FD"] === "3" ? new Socket({ fd: 3 }) : undefined;
const input: Readable = channel ?? process.stdin;
const output: Writable = channel ?? process.stdout;

const [name = "", rest] = split(mode);
let sent = 0;

function split(text: string): readonly [string, string] {
  const at = text.indexOf("=");
  return at === -1 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

function send(call: object): void {
  output.write(`${JSON.stringify({ op: "tool_call", tool_call_id: `call-${sent++}`, ...call })}\n`);
}

function echo(text: string): void {
  send({ tool: "Echo", args: { text } });
}

async function* answers(): AsyncGenerator<string> {
  for await (const line of createInterface({ input })) yield line;
}

/** Prints each answer, and exits after some. */
async function printAnswers(count: number): Promise<void> {
  let left = count;
  if (left > 0)
    for await (const line of answers()) {
      process.stdout.write(`${line}\n`);
      if (--left === 0) break;
    }
  process.exit(0);
}

/** Stays without being able to exchange anything. */
function closeAndStay(): void {
  setInterval(() => {}, 1_000);
  if (channel !== undefined) channel.destroy();
  else for (const fd of [0, 1]) closeSync(fd);
}

const MODES: Readonly<Record<string, () => void | Promise<void>>> = {
  "close-and-stay": closeAndStay,
  "call-close-and-stay": async () => {
    echo("last");
    for await (const _ of answers()) break;
    closeAndStay();
  },
  tool_call: async () => {
    send(JSON.parse(rest) as object);
    await printAnswers(1);
  },
  /** Each is sent when the one before it is answered. */
  calls: async () => {
    const calls = (JSON.parse(rest) as object[]).values();
    const sendNext = (): void => {
      const { value, done } = calls.next();
      if (done) process.exit(0);
      send(value);
    };
    sendNext();
    for await (const line of answers()) {
      process.stdout.write(`${line}\n`);
      sendNext();
    }
  },
  echo: async () => {
    echo("hello");
    await printAnswers(1);
  },
  /** Lines of any bytes, in base64. */
  raw: async () => {
    const { lines, count } = JSON.parse(rest) as { lines: string[]; count: number };
    for (const line of lines) output.write(Buffer.from(line, "base64"));
    await printAnswers(count);
  },
  many: async () => {
    for (let call = 0; call < Number(rest); call++) echo(`${call}`);
    const seen: unknown[] = [];
    for await (const line of answers()) {
      seen.push((JSON.parse(line) as { tool_call_id: string }).tool_call_id);
      if (seen.length === Number(rest)) break;
    }
    process.stdout.write(`answers ${seen.length} different ${new Set(seen).size}\n`);
    process.exit(0);
  },
  loop: async () => {
    process.stdout.write("looping\n");
    echo("first");
    for await (const _ of answers()) echo("again");
  },
  crash: () => {
    send({ tool: "wait", args: {} });
    setTimeout(() => process.kill(process.pid, "SIGKILL"), 200);
  },
  /** Makes calls that do not end, and exits as soon as it has written them. */
  leave: () => {
    const calls = Array.from({ length: Number(rest) }, (_, index) => ({
      op: "tool_call",
      tool_call_id: `leave-${index}`,
      tool: "wait",
      args: {},
    }));
    output.write(calls.map((call) => `${JSON.stringify(call)}\n`).join(""), () => process.exit(7));
  },
  /** It never reads. */
  flood: async () => {
    for (;;) {
      const text = "x".repeat(10_000);
      const call = { op: "tool_call", tool_call_id: `f${sent++}`, tool: "Echo", args: { text } };
      if (!output.write(`${JSON.stringify(call)}\n`))
        await new Promise((resolve) => output.once("drain", resolve));
    }
  },
  "long-line": () => {
    output.write("x".repeat(3 * 1_024 * 1_024));
    setInterval(() => {}, 1_000);
  },
  "half-line": () => {
    const call = { op: "tool_call", tool_call_id: "half", tool: "Echo", args: { text: "x" } };
    output.write(JSON.stringify(call), () => process.exit(0));
  },
};

const run = MODES[name];
if (run === undefined) process.exit(3);
await run();
