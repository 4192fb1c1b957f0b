import { expect, test } from "vitest";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { PROTOCOLS } from "../../src/protocols/by-format.ts";
import type { Format } from "../../src/protocols/formats.ts";

const fitImages = (format: Format, messages: readonly object[]): readonly object[] =>
  PROTOCOLS[format](new ToolRegistry()).fitImages(messages);

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const LARGE = "x".repeat(5_000_000);
const wide = (): string => {
  const bytes = Buffer.from(PIXEL, "base64");
  bytes.writeUInt32BE(2_001, 16);
  return bytes.toString("base64");
};

const image = (data: string): object => ({
  type: "image",
  source: { type: "base64", media_type: "image/png", data },
});

/** The messages of a turn with a call whose result has images. */
const turn = (...images: readonly string[]): readonly object[] => [
  { role: "assistant", content: [{ type: "tool_use", id: "a", name: "look", input: {} }] },
  {
    role: "user",
    content: [
      {
        type: "tool_result",
        tool_use_id: "a",
        content: [{ type: "text", text: "Seen:" }, ...images.map(image)],
      },
    ],
  },
];

/** The number of images of each result, in order. */
function counts(messages: readonly object[]): readonly number[] {
  return messages
    .filter((_, index) => index % 2 === 1)
    .map((message) => JSON.stringify(message).match(/"type":"image"/g)?.length ?? 0);
}

test("the oldest images of a conversation become text when there are too many of them", () => {
  const messages = Array.from({ length: 15 }, () => turn(...Array(8).fill(PIXEL))).flat();
  const before = structuredClone(messages);
  const fitted = fitImages("anthropic", messages);
  expect(counts(fitted)).toEqual([0, 0, 4, ...Array(12).fill(8)]);
  expect(JSON.stringify(fitted[1])).toContain(
    `[image omitted: image/png, ${PIXEL.length} characters of base64]`,
  );
  expect(messages).toEqual(before);
  expect(fitted[0]).toEqual(messages[0]);
});

test("the oldest images become text when they are too large together", () => {
  expect(
    counts(fitImages("anthropic", [...turn(LARGE), ...turn(LARGE, LARGE), ...turn(LARGE, LARGE)])),
  ).toEqual([0, 2, 2]);
});

test("images of too many pixels become text once there are many images", () => {
  const few = [...turn(wide()), ...turn(...Array(19).fill(PIXEL))];
  expect(fitImages("anthropic", few)).toBe(few);
  expect(counts(fitImages("anthropic", [...few, ...turn(PIXEL)]))).toEqual([0, 19, 1]);
});

test("images of the user count, and stay", () => {
  const own = { role: "user", content: Array.from({ length: 99 }, () => image(PIXEL)) };
  const [first, ...rest] = fitImages("anthropic", [own, ...turn(PIXEL), ...turn(PIXEL)]);
  expect(first).toEqual(own);
  expect(counts(rest)).toEqual([0, 1]);
});

test("results of OpenAI's Responses are fitted, too, and other formats are left as they are", () => {
  const url = `data:image/png;base64,${LARGE}`;
  const item = (output: unknown): object => ({ type: "function_call_output", call_id: "a", output });
  const part = (): object => ({ type: "input_image", image_url: url, detail: "auto" });
  const items = [item("text"), ...Array.from({ length: 9 }, () => item([part()]))];
  const fitted = fitImages("openai-responses", items);
  expect(fitted.slice(0, 3)).toEqual([
    items[0],
    item([{ type: "input_text", text: `[image omitted: image/png, ${LARGE.length} characters of base64]` }]),
    items[2],
  ]);
  expect(fitImages("google", items)).toBe(items);
  expect(fitImages("native", items)).toBe(items);
});
