import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../../src/json/value.ts";
import { contextFor, dispatchTool, hostTool } from "../helpers.ts";

const IMAGE = { type: "image", data: "aGk=", mimeType: "image/png" };

async function endOf(output: JsonValue) {
  return dispatchTool(await contextFor([hostTool(() => output)]));
}

describe("a content output with one wrong member fails the call, and names the member", () => {
  test.each<[JsonObject, string]>([
    [
      { content: [{ type: "image", data: "aGk=", mediaType: "image/png" }] },
      "/content/0 has no 'mimeType': write it in place of 'mediaType'",
    ],
    [
      { content: [{ type: "image", data: "aGk=", media_type: "image/png" }] },
      "write it in place of 'media_type'",
    ],
    [
      { content: [{ type: "image", base64: "aGk=", mimeType: "image/png" }] },
      "/content/0 has no 'data': write it in place of 'base64'",
    ],
    [
      { content: [IMAGE, { type: "text", value: "hi" }] },
      "/content/1 has no 'text': write it in place of 'value'",
    ],
    [{ content: [{ type: "text", text: 5 }] }, "/content/0 must have a string as 'text'"],
    [{ content: [{ type: "image", data: "aGk=" }] }, "/content/0 has no 'mimeType'"],
    [
      { content: [IMAGE], metaData: { secret: "s3cret" } },
      "/metaData is not a member of a content output: write 'metadata'",
    ],
    [{ content: [IMAGE], isError: true }, "/isError is not a member of a content output: write 'success'"],
    [{ content: [IMAGE], success: "no" }, "/success must be true or false"],
    [{ content: [IMAGE], metadata: ["s3cret"] }, "/metadata must be an object"],
  ])("%j", async (output, problem) => {
    const { success, error, output: read } = await endOf(output);
    expect([success, error?.code, read]).toEqual([false, "execution_error", null]);
    expect(error?.message).toContain(problem);
    expect(JSON.stringify(error)).not.toMatch(/aGk=|s3cret/);
  });

  test("plain JSON that has a content stays as it is", async () => {
    for (const output of [
      { content: [] },
      { content: "text" },
      { content: ["a", "b"] },
      { content: [{ title: "a" }] },
      { content: [{ type: "chapter", text: "a" }] },
      { id: "msg_1", role: "assistant", content: [{ type: "text", text: "a" }] },
    ])
      expect((await endOf(output)).output).toEqual(output);
    expect((await endOf({ content: [IMAGE], metadata: { a: 1 } })).success).toBe(true);
  });
});
