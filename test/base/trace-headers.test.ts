import { describe, expect, test } from "vitest";
import { readTraceHeaders, readTraceParent } from "../../src/base/trace-headers.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";
const VALID = `00-${TRACE}-${SPAN}-01`;

describe("A traceparent", () => {
  test("names a trace, a span and flags", () => {
    expect(readTraceParent(VALID)).toEqual({ traceId: TRACE, spanId: SPAN, traceFlags: 1 });
  });

  test("of a later version may have further members", () => {
    expect(readTraceParent(`cc-${TRACE}-${SPAN}-01-what-else`)?.traceId).toBe(TRACE);
  });

  test.each([
    ["is empty", ""],
    ["has the version ff", `ff-${TRACE}-${SPAN}-01`],
    ["has a further member in version 00", `${VALID}-00`],
    ["has a trace of zeros", `00-${"0".repeat(32)}-${SPAN}-01`],
    ["has a span of zeros", `00-${TRACE}-${"0".repeat(16)}-01`],
    ["has upper-case digits", VALID.toUpperCase()],
    ["is too short", VALID.slice(0, -1)],
    ["is followed by a line break", `${VALID}\n`],
    ["is given twice", `${VALID}, ${VALID}`],
  ])("is not valid if it %s", (_, text) => {
    expect(readTraceParent(text)).toBeUndefined();
    expect(readTraceHeaders({ traceparent: text })).toBeUndefined();
  });
});

describe("The headers of a request", () => {
  test("continue a trace, with its state", () => {
    const headers = { traceparent: VALID, tracestate: "vendor=1" };
    expect(readTraceHeaders({ ...headers, host: "x" })).toEqual(headers);
  });

  test("continue a trace without its state if that is too long", () => {
    expect(readTraceHeaders({ traceparent: VALID, tracestate: `a=${"x".repeat(512)}` })).toEqual({
      traceparent: VALID,
    });
  });

  test("continue no trace if there is only a state", () => {
    expect(readTraceHeaders({ tracestate: "vendor=1" })).toBeUndefined();
  });
});
