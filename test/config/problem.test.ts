import { expect, test } from "vitest";
import { ConfigError, type ConfigProblem, formatProblem } from "../../src/config/problem.ts";

const PROBLEM: ConfigProblem = { file: "a.yaml", line: 2, column: 3, severity: "error", message: "is wrong" };

test("a problem is formatted as file, line, column and message", () => {
  expect(formatProblem(PROBLEM)).toBe("a.yaml:2:3: is wrong");
  expect(formatProblem({ ...PROBLEM, severity: "warning" })).toBe("a.yaml:2:3: warning: is wrong");
});

test("a problem is formatted as one printable line of bounded length", () => {
  const text = formatProblem({
    ...PROBLEM,
    file: "a\u001b[31m",
    message: `key '\n\u202e\u200b${"x".repeat(10_000)}'`,
  });
  expect(text).not.toMatch(/[\u0000-\u001f\u200b\u202e]/);
  expect(text.length).toBeLessThan(600);
});

test("a ConfigError lists every problem, one per line", () => {
  const error = new ConfigError([PROBLEM, { ...PROBLEM, line: 4, severity: "warning" }]);
  expect(error.message).toBe("a.yaml:2:3: is wrong\na.yaml:4:3: warning: is wrong");
  expect(error.problems).toHaveLength(2);
});
