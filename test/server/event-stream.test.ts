import { expect, test } from "vitest";
// Inside: an event is read before it is known to be the last, and the room is full, when the test says so.
import { EventLog, eventStream, type FinalEvent, StreamRoom } from "../../src/server/event-stream.ts";

test("a stream has its last event once, even if it was read before it was known to be the last", async () => {
  const log = new EventLog({ events: 10, bytes: 10_000 }, () => {});
  const last = Promise.withResolvers<FinalEvent>();
  const stream = eventStream({
    log,
    epoch: "epoch",
    after: 0,
    isCaller: false,
    first: [],
    last: last.promise,
    unread: { acquire: () => true, release: () => {} },
    signal: new AbortController().signal,
  });
  const chunks = stream.getReader();
  const event = { type: "turn.ended", data: "{}" };
  const number = log.add(event);
  expect(String(Buffer.from((await chunks.read()).value ?? []))).toBe(
    "id: epoch-1\nevent: turn.ended\ndata: {}\n\n",
  );
  last.resolve({ number, ...event });
  expect(await chunks.read()).toEqual({ done: true, value: undefined });
});

test("a stream tells of an event as lost when there is no room for it, and gives room back when it ends", async () => {
  const log = new EventLog({ events: 10, bytes: 10_000 }, () => {});
  let room = 60;
  const stream = eventStream({
    log,
    epoch: "epoch",
    after: 0,
    isCaller: false,
    first: [],
    unread: {
      acquire: (bytes) => {
        if (bytes > room) return false;
        room -= bytes;
        return true;
      },
      release: (bytes) => {
        room += bytes;
      },
    },
    signal: new AbortController().signal,
  });
  log.add({ type: "tool.output", data: JSON.stringify("x".repeat(100)) });
  log.add({ type: "tool.output", data: "{}" });
  const chunks = stream.getReader();
  const next = async (): Promise<string> => String(Buffer.from((await chunks.read()).value ?? []));
  expect(await next()).toBe('event: events.lost\ndata: {"type":"events.lost","count":1}\n\n');
  expect([await next(), room < 60]).toEqual(["id: epoch-2\nevent: tool.output\ndata: {}\n\n", true]);
  await chunks.cancel();
  expect(room).toBe(60);
});

test("one client has at most 2,000 streams, and others have theirs when many clients have the most", () => {
  const { streams } = new StreamRoom();
  const open = (name: string): number => {
    let count = 0;
    while (streams.acquire(name, 1)) count++;
    return count;
  };
  expect(open("mallory")).toBe(2_000);
  for (let name = 0; name < 100; name++) open(`mallory ${name}`);
  expect(open("alice")).toBe(16);
});
