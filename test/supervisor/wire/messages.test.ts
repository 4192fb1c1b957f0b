import fc from "fast-check";
import { expect, test } from "vitest";
import { answerLine, MAX_LINE_BYTES, readLine } from "../../../src/supervisor/messages.ts";

test("a call of exactly 2 MiB is read", () => {
  const frame = '{"op":"tool_call","tool_call_id":"a","tool":"Echo","args":{"text":""}}';
  const text = "x".repeat(MAX_LINE_BYTES - frame.length);
  const bytes = Buffer.from(frame.replace('""', `"${text}"`));
  expect(bytes.length).toBe(MAX_LINE_BYTES);
  expect(readLine(bytes)).toEqual({ kind: "call", id: "a", tool: "Echo", args: { text } });
});

test("the id of a call that is not UTF-8 is read with replacement characters", () => {
  const bytes = Buffer.from('{"op":"tool_call","tool_call_id":"a\xff","tool":"Echo","args":{}}', "latin1");
  expect(readLine(bytes)).toEqual({
    kind: "bad",
    id: "a\ufffd",
    message: "Invalid tool call: the line is not UTF-8",
  });
});

test("no bytes make it throw, and it never takes for a call what has no id", () => {
  const piece = fc.constantFrom(
    '{"op":"tool_call"',
    ',"tool_call_id":"a"',
    ',"tool":"Echo"',
    ',"args":{}',
    "}",
    "\ud800",
    ",",
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array({ maxLength: 200 }),
        fc.array(piece).map((all) => Buffer.from(all.join(""))),
      ),
      (bytes) => {
        const line = readLine(Buffer.from(bytes));
        if (line.kind !== "log") expect(line.id).toMatch(/^.{1,256}$/su);
      },
    ),
  );
});

test("an answer is one line of JSON for every result", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", minLength: 1, maxLength: 256 }), fc.jsonValue(), (id, result) => {
      const text = answerLine(id, { ok: true, result: result as never, durationMs: 1 }).toString();
      expect(text.search(/[\n\u2028\u2029]/)).toBe(text.length - 1);
      const answer = JSON.parse(text) as object;
      expect(answer).toMatchObject({ op: "tool_response", tool_call_id: id, ok: true });
      expect(answer).toHaveProperty("result", JSON.parse(JSON.stringify(result)));
    }),
  );
});

test("a result that is longer than a line is a failure that says so", () => {
  const line = answerLine("a", { ok: true, result: "x".repeat(MAX_LINE_BYTES), durationMs: 1 }).toString();
  expect(JSON.parse(line)).toEqual({
    op: "tool_response",
    tool_call_id: "a",
    ok: false,
    error: "tool_failed",
    message: "The result is longer than 2 MiB, the most of one line: ask for less",
  });
});

test("an answer of exactly 2 MiB is sent whole, and one of a byte more is not", () => {
  const answer = (result: string): Buffer => answerLine("a", { ok: true, result, durationMs: 1 });
  const frame = answer("").length;
  const longest = answer("x".repeat(MAX_LINE_BYTES + 1 - frame));
  expect(longest).toHaveLength(MAX_LINE_BYTES + 1);
  expect(longest.toString()).toContain('"ok":true');
  expect(answer("x".repeat(MAX_LINE_BYTES + 2 - frame)).toString()).toContain('"error":"tool_failed"');
});

test("a message is cut to 65,536 code units, and not within a character", () => {
  const message = `x${"😀".repeat(40_000)}`;
  const line = answerLine("a", { ok: false, error: "tool_failed", message }).toString();
  const { message: sent } = JSON.parse(line) as { message: string };
  expect(sent).toBe(`x${"😀".repeat(32_767)}`);
});
