import { expect, test } from "vitest";
import { EventLog } from "../../../src/server/events/event-log.ts";
import { eventStream, type FinalEvent } from "../../../src/server/events/event-stream.ts";

test("a stream has its last event once, also if it was read before it was known to be the last", async () => {
  const log = new EventLog({ events: 10, bytes: 10_000 }, () => {});
  const last = Promise.withResolvers<FinalEvent>();
  const stream = eventStream({
    ...{ log, epoch: "epoch", after: 0, isCaller: false, first: [], last: last.promise },
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
