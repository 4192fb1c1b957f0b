import { expect, test } from "vitest";
import { Progress } from "../../bench/harness/progress.ts";

/** Returns what is written while three steps of 20 s each are begun. */
function written(isTTY: boolean): string {
  const parts: string[] = [];
  let now = 0;
  const stream = { isTTY, write: (part: string) => parts.push(part) };
  const progress = new Progress(stream as never, 3, () => now);
  for (const name of ["one", "two", "three"]) {
    progress.begin(name);
    now += 20_000;
  }
  return parts.join("");
}

test("progress replaces its line on a terminal, and says how long the other steps are likely to take", () => {
  expect(written(true).split("\r\u001b[K").slice(1)).toEqual([
    "1 of 3: one",
    "2 of 3: two, about 40 s left",
    "3 of 3: three, about 20 s left",
  ]);
});

test("progress writes a line only every 30 seconds where there is no terminal", () => {
  expect(written(false)).toBe("(3 of 3: three, about 20 s left)\n");
});
