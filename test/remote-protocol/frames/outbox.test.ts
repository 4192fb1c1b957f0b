import { Writable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { FRAME } from "../../../src/remote-protocol/frames/frame.ts";
import { FrameReader } from "../../../src/remote-protocol/frames/frame-reader.ts";
import { Outbox } from "../../../src/remote-protocol/frames/outbox.ts";

/** A reader that can stop reading, and the writes that have reached it. */
function openReader() {
  const writes: Buffer[] = [];
  let proceed: (() => void) | undefined;
  const socket = new Writable({
    highWaterMark: 1,
    write(chunk: Buffer, _encoding, done) {
      writes.push(chunk);
      proceed = done;
    },
  });
  return { socket, writes, read: () => proceed?.() };
}

function idsOf(writes: readonly Buffer[]): number[] {
  const ids: number[] = [];
  const take = (_type: number, id: number): number => ids.push(id);
  const reader = new FrameReader({ admit: () => true, reserve: () => true, release: () => {}, take });
  for (const chunk of writes) reader.push(chunk);
  return ids;
}

const frame = (id: number) => ({ type: FRAME.log, id, text: "x", textBytes: 1 });
const upTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1);

test("frames of one turn are written together, and sixteen of them at once", async () => {
  const { socket, writes } = openReader();
  const outbox = new Outbox(socket);
  for (const id of upTo(15)) outbox.send(frame(id));
  expect(writes).toEqual([]);
  outbox.send(frame(16));
  expect(idsOf(writes)).toEqual(upTo(16));
  await nextTurn();
  expect(writes).toHaveLength(1);
});

test("frames for a slow reader wait, and are written in order when it has read", async () => {
  const { socket, writes, read } = openReader();
  const outbox = new Outbox(socket);
  for (const id of upTo(50)) outbox.send(frame(id));
  await nextTurn();
  expect(writes).toHaveLength(1);
  expect(outbox.blockedSince).toBeTypeOf("number");
  read();
  await nextTurn();
  expect(idsOf(writes)).toEqual(upTo(50));
});
