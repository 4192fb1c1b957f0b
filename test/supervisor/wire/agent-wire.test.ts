import { PassThrough, Writable } from "node:stream";
import { describe, expect, test } from "vitest";
import { AgentWire, type WireEnd } from "../../../src/supervisor/agent.ts";
import { type Answer, answerLine } from "../../../src/supervisor/messages.ts";

const MIB = 1_024 * 1_024;

/** A wire to an agent that reads nothing. */
function openWire(call: (id: string) => Promise<Answer>) {
  const input = new PassThrough();
  const ends: WireEnd[] = [];
  const called: string[] = [];
  /** How many calls there had been when the agent could make no more. */
  const silences: number[] = [];
  const output = new Writable({ write: () => {} });
  new AgentWire(input, output, {
    call: ({ id }) => {
      called.push(id);
      return call(id);
    },
    log: () => {},
    end: (reason) => ends.push(reason),
    silent: () => silences.push(called.length),
  });
  const send = async (text: string): Promise<void> => {
    input.write(text);
    await new Promise(setImmediate);
  };
  return { send, ends, called, output, input, silences };
}

const line = (id: string, text = ""): string =>
  JSON.stringify({ op: "tool_call", tool_call_id: id, tool: "Echo", args: { text } });

/** An answer whose line, with its end, has so many bytes. */
function answerOf(id: string, bytes: number): Answer {
  const answer = (result: string): Answer => ({ ok: true, result, durationMs: 1 });
  return answer("x".repeat(bytes - answerLine(id, answer("")).length));
}

describe("The bounds of the wire", () => {
  test("8 MiB of answers may be unread, and not one more answer", async () => {
    const { send, ends, output } = openWire(async (id) => answerOf(id, id === "last" ? 100 : MIB));
    for (let index = 0; index < 8; index++) await send(`${line(String(index))}\n`);
    expect(ends).toEqual([]);
    expect(output.writableLength).toBe(8 * MIB);
    await send(`${line("last")}\n`);
    expect(ends).toEqual(["answers not read"]);
    expect(output.writableLength).toBe(8 * MIB);
  });

  test("a line of 2 MiB without its end is read, and one of a byte more ends the agent before its end", async () => {
    const { send, ends, called } = openWire(() => new Promise(() => {}));
    const longest = line("longest", "x".repeat(2 * MIB - line("longest").length));
    await send(`${longest}\n`);
    expect([called, ends]).toEqual([["longest"], []]);
    await send(`${longest} `);
    expect([called, ends]).toEqual([["longest"], ["line too long"]]);
  });

  test("with 1,024 calls outstanding, nothing is read until one has ended", async () => {
    const ended = Promise.withResolvers<Answer>();
    const { send, called } = openWire((id) => (id === "0" ? ended.promise : new Promise(() => {})));
    for (let index = 0; index < 1_024; index++) await send(`${line(String(index))}\n`);
    await send(`${line("waiting")}\n`);
    expect(called).toHaveLength(1_024);
    ended.resolve(answerOf("0", 100));
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    expect(called.at(-1)).toBe("waiting");
  });
});

test("an agent that has closed its output is silent once its last call is answered", async () => {
  const ended = Promise.withResolvers<Answer>();
  const { send, input, silences } = openWire(() => ended.promise);
  await send(`${line("last")}\n`);
  input.end();
  await new Promise(setImmediate);
  expect(silences).toEqual([]);
  ended.resolve(answerOf("last", 100));
  await expect.poll(() => silences).toEqual([1]);
});
