import { expect, test } from "vitest";
// Inside: counts 200,000 names in steps of its own, for which a journal would need as many records.
import { OTHERS, TimeSeries } from "../../../src/journal/overview/call-index.ts";

const everybody = (): boolean => true;

test("steps are kept for a time, and count by principal", () => {
  const series = new TimeSeries(10, 30);
  for (let at = 0; at < 100; at++) series.add(at, at % 2 === 0 ? "ann" : "bob", ["call"]);
  expect([...series.read(0, everybody)]).toEqual([70, 80, 90].map((at) => [at, new Map([["call", 10]])]));
  const ann = [...series.read(80, (principal) => principal === "ann")];
  expect(ann).toEqual([80, 90].map((at) => [at, new Map([["call", 5]])]));
});

test("a record of an earlier time counts in the latest step", () => {
  const series = new TimeSeries(10, 30);
  series.add(25, "", ["call"]);
  series.add(5, "", ["call"]);
  expect([...series.read(0, everybody)]).toEqual([[20, new Map([["call", 2]])]]);
});

test("beyond 200,000 counters, new names and principals are others, and durations have their class", () => {
  const series = new TimeSeries(10, 30);
  for (let at = 0; at < 200_000; at++) series.add(0, "ann", [`tool ${at}`]);
  series.add(0, "ann", ["call", "tool 7", "tool new name", "answer-ms a b 17"]);
  series.add(0, "bob", ["call"]);
  const [[, ann] = []] = series.read(0, (principal) => principal === "ann");
  expect(ann?.get("tool 7")).toBe(2);
  expect(ann?.get(`tool ${OTHERS}`)).toBe(1);
  expect(ann?.get(`answer-ms ${OTHERS} 17`)).toBe(1);
  expect(ann?.get("call")).toBe(1);
  const [[, bob] = []] = series.read(0, (principal) => principal === "bob");
  expect(bob?.size).toBe(0);
  const [[, others] = []] = series.read(0, (principal) => principal === OTHERS);
  expect(others?.get("call")).toBe(1);
});
