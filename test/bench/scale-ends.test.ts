import { expect, test } from "vitest";
import type { Case } from "../../bench/harness/case.ts";
import { scaleEnds } from "../../bench/harness/scale-ends.ts";
import { openSuite } from "../../bench/suites.ts";

const open: Case["open"] = () => ({ run: () => {}, check: () => {} });
const namesOf = (cases: readonly Case[]): readonly string[] =>
  scaleEnds({ name: "q", cases }).cases.map(({ name }) => name);

test("a short run measures the ends of a scale, each with its floor, and what has no position", () => {
  const positions = [1, 10, 100].flatMap((at) => [
    { name: `bare ${at}`, at, floor: `bare ${at}`, open },
    { name: `ours ${at}`, at, floor: `bare ${at}`, open },
  ]);
  const refused = [
    { name: "bare 1000", at: 1_000, floor: "bare 1000", open },
    { name: "ours 1000, refused", floor: "bare 1000", open },
  ];
  expect(namesOf([...positions, ...refused])).toEqual([
    "bare 1",
    "ours 1",
    "bare 100",
    "ours 100",
    "bare 1000",
    "ours 1000, refused",
  ]);
});

test("a question without a scale is measured as a whole", () => {
  const cases = ["bare", "ours", "ours, another"].map((name) => ({ name, open }));
  expect(namesOf(cases)).toEqual(["bare", "ours", "ours, another"]);
});

test("the cases that a short run measures of questions with scales include the floor of each", async () => {
  const suites = await Promise.all(["host", "pool", "policy"].map(openSuite));
  for (const question of suites.flat()) {
    const { cases } = scaleEnds(question);
    expect(cases[0]?.name, question.name).toBe(question.cases[0]?.name);
    expect(cases.length, question.name).toBeGreaterThan(1);
    for (const { floor } of cases) {
      if (floor !== undefined) expect(cases.map(({ name }) => name)).toContain(floor);
    }
  }
});
