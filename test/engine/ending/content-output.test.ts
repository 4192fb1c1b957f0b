import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../../src/json/value.ts";
import { contextFor, dispatchTool, hostTool } from "../helpers.ts";

const TEXT = { type: "text", text: "hi" };
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
    [
      { content: [TEXT], metdata: { a: "s3cret" } },
      "/metdata is not a member of a content output: write 'metadata'",
    ],
    [{ content: [TEXT], _meta: { a: "s3cret" } }, "/_meta is not a member"],
    [{ content: [TEXT], structuredContent: { a: "s3cret" } }, "/structuredContent is not a member"],
    [
      { contents: [IMAGE], metadata: { a: "s3cret" } },
      "/contents is not a member of a content output: write 'content'",
    ],
    [{ content: IMAGE, metadata: { a: "s3cret" } }, "/content must be a list of blocks"],
    [
      { content: [TEXT, { ...IMAGE, type: "audio" }] },
      "/content/1 must have 'text' or 'image' as its 'type'",
    ],
    [{ content: [{ ...IMAGE, type: "Image" }] }, "/content/0 must have 'text' or 'image' as its 'type'"],
    [{ content: [{ ...IMAGE, type: "img" }] }, "/content/0 must have 'text' or 'image' as its 'type'"],
    [{ content: [{ data: "aGk=", mimeType: "image/png" }] }, "/content/0 must have 'text' or 'image'"],
    [
      { content: [{ type: "resource", resource: { blob: "aGk=" } }] },
      "/content/0 must have 'text' or 'image'",
    ],
    [
      { content: [TEXT, { type: "image_url", image_url: "data:image/png;base64,aGk=" }] },
      "/content/1 must have",
    ],
    [{ content: [TEXT, null, IMAGE] }, "/content/1 must be a block with a type"],
    [{ content: [[TEXT], IMAGE] }, "/content/0 must be a block with a type"],
    [
      { content: [{ type: "image", data: "aGk=", mediaType: 1 }], metaData: { a: "s3cret" } },
      "/metaData is not a member",
    ],
    [
      { content: [IMAGE], title: "a", metadata: { a: "s3cret" } },
      "has other members than content, success and metadata",
    ],
  ])("%j", async (output, problem) => {
    const { success, error, output: read } = await endOf(output);
    expect([success, error?.code, read]).toEqual([false, "execution_error", null]);
    expect(error?.message).toContain(problem);
    expect(JSON.stringify(error)).not.toMatch(/aGk=|s3cret/);
  });

  test.each<[JsonValue]>([[IMAGE], [[TEXT, IMAGE]]])("an image outside of one: %j", async (output) => {
    const { error, output: read } = await endOf(output);
    expect(read).toBe(null);
    expect(error?.message).toContain("has an image outside of a content output");
  });

  test("plain JSON that has a content stays as it is", async () => {
    for (const output of [
      { content: [] },
      { content: "text" },
      { content: ["a", "b"] },
      { content: [{ title: "a" }] },
      { content: [{ type: "chapter", text: "a" }] },
      { contents: [{ uri: "a", text: "b" }], metadata: { a: 1 } },
      { type: "doc", content: [{ type: "text", text: "a" }] },
      { context: [TEXT] },
      [TEXT],
      { id: "msg_1", role: "assistant", content: [{ type: "text", text: "a" }] },
    ])
      expect((await endOf(output)).output).toEqual(output);
    expect((await endOf({ content: [IMAGE], metadata: { a: 1 } })).success).toBe(true);
  });
});
