import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
// Inside: styles texts that it chooses; the commands style only words of their own.
import { print, styled } from "../../../src/cli/terminal.ts";
import { type ShownText, shown } from "../../../src/rendering/shown.ts";

async function printed(
  shownText: ShownText,
  stream: { columns?: number; showsStyles?: boolean },
): Promise<string> {
  const output = Object.assign(new PassThrough(), stream);
  const read = text(output);
  await print(output, shownText);
  output.end();
  return read;
}

test("a style reaches only streams that show it", async () => {
  const line = shown`a ${styled("bad", shown`failure`)} of ${"x"}`;
  expect(await printed(line, { showsStyles: true })).toBe("a \u001b[31mfailure\u001b[39m of x\n");
  expect(await printed(line, {})).toBe("a failure of x\n");
});

test("a line that has to be wrapped has no style, and is as wide as the terminal", async () => {
  const line = styled("good", shown`${"word ".repeat(20)}`);
  const rows = (await printed(line, { showsStyles: true, columns: 40 })).trimEnd().split("\n");
  expect(rows.length).toBeGreaterThan(1);
  expect(rows.join("")).not.toContain("\u001b");
  for (const row of rows) expect(row.length).toBeLessThanOrEqual(40);
});

test("foreign text cannot style anything", async () => {
  const line = shown`said ${"\u001b[31mred\u001b[39m"}`;
  expect(await printed(line, { showsStyles: true })).not.toContain("\u001b");
});
