import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { EventTooLongError, StreamReader, writeStreamEvent } from "../../src/remote-protocol/event-stream.ts";

describe("StreamReader", () => {
  test("a stream of events is read as it was written, regardless of how its text is split", () => {
    const name = fc.constantFrom("output", "log", "execution", "problem");
    fc.assert(
      fc.property(fc.array(fc.tuple(name, fc.json())), fc.array(fc.nat()), (events, cuts) => {
        const text = events
          .map(([event, data]) => writeStreamEvent(event as "output", JSON.stringify(JSON.parse(data))))
          .join("");
        const ends = [...cuts.map((cut) => cut % (text.length + 1)), text.length].sort((a, b) => a - b);
        const reader = new StreamReader(10_000);
        const read = ends.flatMap((end, index) => reader.push(text.slice(ends[index - 1] ?? 0, end)));
        expect(read).toEqual(
          events.map(([event, data]) => ({ event, data: JSON.stringify(JSON.parse(data)) })),
        );
      }),
    );
  });

  test("a stream of events can have any line breaks, comments, and data of several lines", () => {
    const text = ": hello\revent: log\r\ndata: 1\ndata:2\r\r\nid: 7\n\ndata\n\n";
    const expected = [
      { event: "log", data: "1\n2" },
      { event: "message", data: "" },
    ];
    expect(new StreamReader(100).push(text)).toEqual(expected);
    const reader = new StreamReader(100);
    expect([...text].flatMap((character) => reader.push(character))).toEqual(expected);
  });

  test("an event that is too long is refused", () => {
    expect(() => new StreamReader(100).push(`data: ${"x".repeat(100)}`)).toThrow(EventTooLongError);
    expect(() => new StreamReader(100).push("data: xxxxxxxxxx\n".repeat(10))).toThrow(EventTooLongError);
    expect(new StreamReader(100).push("data: xxxxxxxxxx\n\n".repeat(100))).toHaveLength(100);
  });
});
