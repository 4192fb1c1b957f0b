import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import * as SDK from "@modelcontextprotocol/server";
import fc from "fast-check";
import { expect, test } from "vitest";
import { LineTransport } from "../../../../src/mcp/server/serve-stdio.ts";

function start() {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const problems: string[] = [];
  const transport = new LineTransport(SDK, { input, output }, (problem) => problems.push(problem));
  const messages: unknown[] = [];
  transport.onmessage = (message) => messages.push(message);
  void transport.start();
  const written = (): unknown[] =>
    String(output.read() ?? "")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line));
  return { input, transport, messages, problems, written };
}

const ping = (id: number) => ({ jsonrpc: "2.0", id, method: "ping" });

test("messages are read however they are split", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(60), { maxLength: 12 }), (cuts) => {
      const { transport, messages } = start();
      const data = Buffer.from(`${JSON.stringify(ping(1))}\r\n\n${JSON.stringify(ping(2))}\n`);
      const places = [0, ...[...cuts].sort((one, other) => one - other), data.length];
      for (const [index, place] of places.entries()) {
        transport.take(data.subarray(place, places[index + 1] ?? place));
      }
      expect(messages).toEqual([ping(1), ping(2)]);
    }),
  );
});

test.each([
  "{",
  "[1]",
  '"text"',
  "{}",
  '{"jsonrpc":"1.0","id":1}',
  "\u0000",
  '{"a":1,"a":2}',
])("the line %j costs only itself", (line) => {
  const { transport, messages, problems, written } = start();
  transport.take(Buffer.from(`${line}\n${JSON.stringify(ping(2))}\n`));
  expect(messages).toEqual([ping(2)]);
  expect(problems).toHaveLength(1);
  expect(written()).toMatchObject([{ jsonrpc: "2.0", id: null, error: { code: expect.any(Number) } }]);
});

test.each([
  ["at its beginning", '{"id":7,"method":"tools/call","params":{"id":8,"a":"', '"}}', 7],
  [
    "at its end",
    '{"method":"tools/call","params":{"id":[8],"a":"}]',
    '"},"jsonrpc":"2.0","id":"\\u0061 b"}',
    "a b",
  ],
  [
    "with many digits",
    '{"method":"a","params":["',
    '"],"id":12345678901234567890}',
    Number("12345678901234567890"),
  ],
])("a line that is too long is refused with its id %s, and is not kept", (_where, head, tail, id) => {
  const { transport, messages, problems, written } = start();
  transport.take(Buffer.from(head));
  const mebibyte = Buffer.alloc(1_024 * 1_024, "x");
  for (let count = 0; count < 5; count++) transport.take(mebibyte);
  transport.take(Buffer.from(`${tail}\n${JSON.stringify(ping(1))}\n`));
  expect(problems).toEqual(["The message cannot be read: it has more than 4194304 bytes"]);
  expect(written()).toMatchObject([{ id, error: { code: -32_600 } }]);
  expect(messages).toEqual([ping(1)]);
});

test.each([
  '{"method":"a","params":"',
  '{"jsonrpc":"2.0","id":1,"result":"',
])("a line that is too long, and no request, is not answered: %s", (head) => {
  const { transport, messages, problems, written } = start();
  transport.take(Buffer.from(`${head}${"x".repeat(5 * 1_024 * 1_024)}"}\n${JSON.stringify(ping(1))}\n`));
  expect(problems).toHaveLength(1);
  expect(written()).toEqual([]);
  expect(messages).toEqual([ping(1)]);
});

test("the end of the input closes the connection", async () => {
  const { input, transport } = start();
  input.end();
  await transport.closed;
});

test("a client that does not read is not told how calls go on, and nothing is read from it until it does", async () => {
  const input = new PassThrough();
  const output = new PassThrough({ highWaterMark: 1_024 });
  const transport = new LineTransport(SDK, { input, output }, () => {});
  const messages: unknown[] = [];
  transport.onmessage = (message) => messages.push(message);
  await transport.start();
  const method = "notifications/progress";
  const params = { progressToken: 1, progress: 1, message: "x".repeat(100_000) };
  for (let count = 0; count < 100; count++) void transport.send({ jsonrpc: "2.0", method, params });
  expect(output.writableLength).toBeLessThan(5 * 2 ** 20);
  void transport.send({ jsonrpc: "2.0", id: 1, result: { text: "y".repeat(1_000_000) } });
  input.write(`${JSON.stringify(ping(2))}\n`);
  await new Promise(setImmediate);
  expect(messages).toEqual([]);
  const lines: string[] = [];
  createInterface({ input: output }).on("line", (line) => lines.push(line));
  await expect.poll(() => messages).toEqual([ping(2)]);
  expect(lines.at(-1)).toContain("yyy");
});
