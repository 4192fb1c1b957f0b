import { isUtf8 } from "node:buffer";
import type { Tool } from "../../engine/tool.ts";
import { parseJson } from "../../json/parse.ts";
import { lookUp, parsePointer } from "../../json/pointer.ts";
import { isFileGrant } from "../../policy/grant/fs-grant.ts";
import type { Inquiry, InquiryRecord } from "../../sessions/confirmations/inquiry.ts";
import { WorkspaceError } from "../../workspace/error.ts";
import { WorkspaceFile } from "../../workspace/file.ts";
import { Workspace } from "../../workspace/workspace.ts";
import { wholeInquiryView } from "../views.ts";

/** The longest file that is shown, in bytes. */
const MAX_BYTES = 262_144;

/** A whole inquiry for those who answer it: with the text, as it is now, of the file that the call would write. */
export function approverInquiryView(record: InquiryRecord, tool: Tool<never, never> | undefined): object {
  const text = currentText(record.inquiry, tool);
  return { ...wholeInquiryView(record, tool), ...(text !== undefined && { currentText: text }) };
}

/**
 * Returns the text of the only file that a call says it would write, as it is now, for a person who decides about the call. It
 * is read as the tool would: under the call's grant, which leads nowhere else.
 *
 * @param tool That of the call; `undefined` if it is not registered any more.
 * @returns `null` if there is no such file yet; `undefined` if that is not known, or the file is no text, or too long.
 */
function currentText(
  inquiry: Inquiry,
  tool: Pick<Tool<never, never>, "paths" | "usesFiles"> | undefined,
): string | null | undefined {
  if (inquiry.kind !== "call" || tool?.usesFiles !== true) return undefined;
  const { fs = [] } = inquiry.shown.grant.capabilities ?? {};
  const [granted, ...otherGrants] = fs;
  const [written, ...others] = (tool.paths ?? []).filter(({ access }) => access === "write");
  if (granted === undefined || isFileGrant(granted) || otherGrants.length + others.length > 0)
    return undefined;
  const parsed = parseJson(inquiry.shown.arguments);
  const path =
    "value" in parsed && written !== undefined
      ? lookUp(parsed.value, parsePointer(written.argument))
      : undefined;
  if (typeof path !== "string") return undefined;
  try {
    using workspace = new Workspace([{ ...granted, write: false }], 0);
    const file = workspace.directories[0]?.directory.open(path, { read: true, follow: true });
    return file instanceof WorkspaceFile ? textOf(file) : undefined;
  } catch (error) {
    return error instanceof WorkspaceError && error.code === "no-entry" ? null : undefined;
  }
}

function textOf(file: WorkspaceFile): string | undefined {
  if (file.sizeAtOpen > MAX_BYTES) return undefined;
  const bytes = file.read(0, MAX_BYTES);
  return isUtf8(bytes) ? Buffer.from(bytes).toString("utf8") : undefined;
}
