import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { EventParser } from "../../../src/protocols/event-parser.ts";
import { MAX_STREAM_BYTES } from "../../../src/protocols/parsing/limits.ts";

function parse(...pieces: (Uint8Array | string)[]): readonly string[] {
  const parser = new EventParser();
  return [...pieces.flatMap((piece) => parser.push(piece)), ...parser.end()];
}

test("reads server-sent events: fields, comments, data of several lines, a byte order mark", () => {
  const stream =
    '\ufeff: hello\nevent: x\nid: 1\nid\nx-later: 1\nretry: 10\ndata: {"a":\ndata: 1}\n\n\n\ndata:[DONE]\n\n';
  expect(parse(new TextEncoder().encode(stream))).toEqual(['{"a":\n1}', "[DONE]"]);
});

test("reads JSON lines", () => {
  expect(parse('{"a":1}\r\n\r\n{"b":2}\n{"c":3}')).toEqual(['{"a":1}', '{"b":2}', '{"c":3}']);
});

test("returns an event as soon as it is complete, and the last one without a line end", () => {
  const parser = new EventParser();
  expect(parser.push("data: 1\n")).toEqual([]);
  expect(parser.push("\ndata: 2")).toEqual(["1"]);
  expect(parser.end()).toEqual(["2"]);
});

test("refuses other texts and invalid UTF-8", () => {
  expect(() => parse("<html>\n")).toThrow("the message is not an event stream");
  expect(() => parse(Uint8Array.of(0x22, 0xff))).toThrow("the message is not valid UTF-8");
  expect(() => parse(Uint8Array.of(0x7b, 0xe2, 0x82))).toThrow("the message is not valid UTF-8");
});

test("refuses an endless stream", () => {
  const parser = new EventParser();
  const piece = new Uint8Array(1_024 * 1_024).fill(0x3a);
  for (let bytes = 0; bytes < MAX_STREAM_BYTES; bytes += piece.length) parser.push(piece);
  expect(() => parser.push(piece)).toThrow("is longer than 64 MiB");
});

test("returns the same events for any chunks and any line ends", () => {
  const event = fc.json().filter((text) => /^[[{]/.test(text));
  const lineEnd = fc.constantFrom("\n", "\r", "\r\n");
  fc.assert(
    fc.property(fc.array(event), lineEnd, fc.array(fc.nat(40)), (events, end, lengths) => {
      const bytes = new TextEncoder().encode(events.map((text) => `data: ${text}${end}${end}`).join(""));
      const pieces: Uint8Array[] = [];
      let at = 0;
      for (const length of lengths) {
        pieces.push(bytes.subarray(at, at + length));
        at += length;
      }
      expect(parse(...pieces, bytes.subarray(at))).toEqual(events);
    }),
  );
});

describe("a stream that is one list", () => {
  const events = [{ text: 'a "]" \\' }, { list: [[1], {}] }, {}];
  const parse = (pieces: readonly string[]): unknown[] => {
    const parser = new EventParser();
    return [...pieces.flatMap((piece) => parser.push(piece)), ...parser.end()].map((text) =>
      JSON.parse(text),
    );
  };

  test("has its items as events, split at every character", () => {
    for (const text of [JSON.stringify(events), `\r\n${JSON.stringify(events, undefined, 2)}\n`, "[]"]) {
      const whole = JSON.parse(text);
      for (let at = 0; at <= text.length; at++)
        expect(parse([text.slice(0, at), text.slice(at)])).toEqual(whole);
      expect(parse([...text])).toEqual(whole);
    }
  });

  test.each([
    ["[{}", "ends inside a list of events"],
    ["[{", "ends inside a list of events"],
    ["[1]", "is not a list of events"],
    ["[{}]{}", "is not a list of events"],
    [`[${"{[".repeat(300)}`, "is nested deeper than 512 levels"],
  ])("is refused if it is incomplete or something else: %j", (text, reason) => {
    expect(() => parse([text])).toThrow(reason);
  });
});
