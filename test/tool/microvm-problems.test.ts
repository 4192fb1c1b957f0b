import { expect, test } from "vitest";
import { implementationProblems } from "../../src/tool/tool-problems.ts";

const valid = { image: "/image", command: "sh" };

test("accepts a program in a virtual machine", () => {
  expect(implementationProblems({ microvm: { ...valid, args: ["-c", ""] } })).toEqual([]);
});

test.each<[unknown, string]>([
  ["/image", "microvm must be an object"],
  [{ ...valid, image: "image" }, "microvm.image must be the absolute path of a directory"],
  [{ ...valid, image: 1 }, "microvm.image must be the absolute path of a directory"],
  [{ ...valid, command: "" }, "microvm.command must be the name or the path of a program in the image"],
  [{ ...valid, args: ["\0"] }, "microvm.args must be a list of strings without NUL"],
  [{ ...valid, args: ["\ud800"] }, "microvm.args must be a list of strings without NUL"],
  [{ ...valid, args: ["x".repeat(2_000)] }, "microvm.command and its args must have at most 2000 bytes"],
])("refuses %j", (microvm, problem) => {
  expect(implementationProblems({ microvm } as never)).toEqual([problem]);
});
