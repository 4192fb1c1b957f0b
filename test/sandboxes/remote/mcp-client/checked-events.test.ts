import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { checkedEvents, MessageRoom } from "../../../../src/sandboxes/remote/mcp-client/message-streams.ts";
// Inside: cuts events into pieces of any size; a socket cuts them as it likes.
import { WireFilter } from "../../../../src/sandboxes/remote/mcp-client/wire-filter.ts";

const NOTIFICATION = '{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"é"}}';

async function eventsOf(pieces: Iterable<string | Buffer>): Promise<string[]> {
  const filter = new WireFilter(() => {});
  const events: string[] = [];
  const bytes = function* (): Generator<Buffer> {
    for (const piece of pieces) yield Buffer.from(piece);
  };
  for await (const event of checkedEvents(Readable.from(bytes()), filter, new MessageRoom().reserve("s")))
    events.push(event.toString());
  return events;
}

test("Events are passed on however their bytes are cut, with any ends of lines, and without comments", async () => {
  const text = Buffer.from(
    `: hello\r\nid: 1\r\ndata: ${NOTIFICATION}\r\n\r\n:\n\nid: 2\ndata: {"jsonrpc":"2.0",\ndata: ${NOTIFICATION.slice(17)}\n\n`,
  );
  const expected = [
    `id: 1\ndata: ${NOTIFICATION}\n\n`,
    `id: 2\ndata: {"jsonrpc":"2.0", ${NOTIFICATION.slice(17)}\n\n`,
  ];
  for (const size of [1, 3, 7, text.length]) {
    const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, index) =>
      text.subarray(index * size, (index + 1) * size),
    );
    expect(await eventsOf(pieces)).toEqual(expected);
  }
});

test("Nothing passes unchecked in another field, in a comment or behind a byte order mark", async () => {
  const twice = 'data: {"jsonrpc":"2.0","method":"a","method":"b"}';
  for (const smuggled of [`id: 1\r${twice}`, `:\r${twice}`, `x\r${twice}\r\r`, `\ufeff${twice}`]) {
    const events = await eventsOf([`${smuggled}\n\n`]);
    expect(events.join("")).not.toContain("method");
  }
  expect(await eventsOf([":\rretry: 0\n\n"])).toEqual(["retry: 500\n\n"]);
});

test("A long line costs as much time in small pieces as in large ones", { timeout: 20_000 }, async () => {
  // Read again with each piece, it would take minutes.
  const piece = Buffer.alloc(8, "x");
  const pieces = function* (): Generator<Buffer> {
    yield Buffer.from("data: ");
    for (let bytes = 0; bytes < 3 * 1_024 * 1_024; bytes += piece.length) yield piece;
    yield Buffer.from("\n\n");
  };
  expect(await eventsOf(pieces())).toEqual([]);
});

test("A stream of comments takes no memory", async () => {
  const comments = Buffer.from(":\n".repeat(32_768));
  const before = process.memoryUsage().heapUsed;
  let highest = 0;
  const pieces = function* (): Generator<Buffer> {
    for (let count = 0; count < 100; count++) {
      if (count % 10 === 0) highest = Math.max(highest, process.memoryUsage().heapUsed);
      yield comments;
    }
  };
  expect(await eventsOf(pieces())).toEqual([]);
  expect(highest - before).toBeLessThan(32 * 1_024 * 1_024);
});
