import { describe, expect, test } from "vitest";
// Inside: reads output that is cut off, or is about other files, which the compiler does not write on request.
import { readDiagnostics } from "../../../src/programs/type-checker.ts";

const line = (at: number, message: string): string => `program.ts(${at},3): error TS2322: ${message}\n`;

describe("What the compiler says", () => {
  test("is read without the lines that explain it further", () => {
    const output = `${line(2, "It does not fit.")}  Because of this.\n${line(4, "Nor does it.")}`;
    expect(readDiagnostics(output)).toEqual(["/code 1:3: It does not fit.", "/code 3:3: Nor does it."]);
  });

  test("can end in the middle of a line", () => {
    expect(readDiagnostics(`${line(2, "It does not fit.")}program.ts(3,`)).toHaveLength(1);
    expect(readDiagnostics("program.ts(3,1): error TS2322: Type 'aaaa")).toEqual(["/code types do not fit"]);
  });

  test("is passed on up to ten problems, each of 400 characters", () => {
    const problems = readDiagnostics(line(9, "x".repeat(100_000)).repeat(1_000));
    expect(problems).toHaveLength(10);
    expect(problems[0]).toBe(`/code 8:3: ${"x".repeat(400)}`);
  });

  test("has no characters that cannot be seen", () => {
    expect(readDiagnostics(line(2, "a\u202eb\u001bc"))).toEqual(["/code 1:3: a\ufffdb\ufffdc"]);
  });

  test("fails the check if it is about anything but the program", () => {
    expect(() => readDiagnostics("error TS5023: Unknown compiler option '--x'.\n")).toThrow(
      "Unknown compiler option",
    );
    expect(() => readDiagnostics("declarations.d.ts(1,1): error TS1005: ';' expected.\n")).toThrow(
      "declarations",
    );
  });
});
