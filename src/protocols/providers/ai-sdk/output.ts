import type { ContentBlock } from "../../../tool/content.ts";
import { shownContent, toVisibleText } from "../../parsing/text.ts";

/** The output of a call in AI SDK 7 (`ToolResultOutput`). */
export type AiSdkOutput =
  | { readonly type: "text" | "error-text"; readonly value: string }
  | { readonly type: "content"; readonly value: AiSdkContent[] };

/** A content block. */
export type AiSdkContent =
  | { readonly type: "text"; readonly text: string }
  | {
      readonly type: "file";
      readonly mediaType: string;
      readonly data: { readonly type: "data"; readonly data: string };
    };

/** Converts the content of a result. An error is text only, as the SDK has no other form. */
export function toAiSdkOutput(content: readonly ContentBlock[], isError: boolean): AiSdkOutput {
  if (isError) return { type: "error-text", value: toVisibleText(content) };
  const shown = shownContent(content);
  if (shown.every((block) => block.type === "text")) return { type: "text", value: toVisibleText(content) };
  return {
    type: "content",
    value: shown.map((block) => {
      if (block.type === "text") return { type: "text", text: block.text };
      return { type: "file", mediaType: block.mimeType, data: { type: "data", data: block.data } };
    }),
  };
}
