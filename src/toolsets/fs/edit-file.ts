import { setImmediate } from "node:timers/promises";
import { TextFinder } from "../../base/text-finder.ts";
import { defineTool, type Tool } from "../../engine/tool.ts";
import { FileFailure, shownPath, ToolFailure } from "../../tool/tool-failure.ts";
import type { WorkspaceFiles } from "../../tool/workspace-files.ts";
import { FILE_PATH, grantedFiles, inputSchema, type Writing } from "../tool-parts.ts";
import { changedLines, editText, hasLineNumbers, NUMBERED } from "./changed-lines.ts";

/** One replacement in a file. */
interface Edit {
  readonly old: string;
  readonly new: string;
  readonly replaceAll?: boolean;
}

/** Maximum number of edits in a call. */
const MAX_EDITS = 100;

/** How far occurrences of a text are counted that is to occur once, and how many an edit replaces at most. */
const MAX_COUNT = 1_000;

/** Maximum number of reported lines in which a text occurs. */
const MAX_NAMED = 5;

const MAX_REPLACEMENTS = 1_000_000;

/** The longest text that a call makes, in UTF-16 code units: no file that can be read is longer. */
const MAX_LENGTH: number = 16 * 1_024 * 1_024;

/** Returns the tool `edit_file`. */
export function editFile(writing: Writing): Tool {
  return defineTool({
    name: "edit_file",
    description:
      "Replaces texts in a file, one after another: all of them, or none if one cannot be replaced. Each old text must occur " +
      "exactly once, unless replaceAll is set, and stands there without the line numbers that read_file shows. Shows the changed lines.",
    sideEffects: "write",
    confirm: "prompt",
    usesFiles: "staged",
    paths: [{ argument: "/path", access: "write" }],
    inputSchema: inputSchema({
      path: FILE_PATH,
      edits: {
        type: "array",
        minItems: 1,
        maxItems: MAX_EDITS,
        items: inputSchema(
          {
            old: {
              type: "string",
              minLength: 1,
              description: "The exact text in the file, with its white space",
            },
            new: { type: "string", description: "The text to put in its place" },
          },
          { replaceAll: { type: "boolean", description: "Replace every occurrence. Default: false" } },
        ),
      },
    }),
    host: ({ path, edits }, context) =>
      writing.run(context.workspace, async () => {
        const files = grantedFiles(context);
        const before = await files.read(path);
        const { text, replacements } = await applyEdits(before, edits, path, context.signal);
        await files.write(path, text);
        return { replacements, changed: changedLines(before, text) };
      }),
    modelText: editText,
  });
}

async function applyEdits(
  whole: string,
  edits: readonly Edit[],
  path: string,
  signal: AbortSignal,
): Promise<{ readonly text: string; readonly replacements: number }> {
  let text = whole;
  let replacements = 0;
  for (const [index, { old, new: replacement, replaceAll = false }] of edits.entries()) {
    const refuse = (reason: string): never => {
      const which =
        edits.length === 1 ? "" : ` edit ${index + 1} of ${edits.length} fails, and nothing was changed:`;
      const message = `Cannot edit '${shownPath(path)}':${which} ${reason}`;
      throw new ToolFailure("execution_error", message, { effect: "none" });
    };
    // Each edit takes some time of a large file.
    if (index > 0) await setImmediate();
    signal.throwIfAborted();
    const finder = new TextFinder(old);
    const times = replaceAll ? replaceableIn(text, finder) : finder.countIn(text, MAX_COUNT + 1);
    if (times === 0) refuse(missing(text, old));
    if (hasLineNumbers(replacement) && !hasLineNumbers(old)) refuse(NUMBERED);
    if (times > 1 && !replaceAll) {
      const count = times > MAX_COUNT ? `more than ${MAX_COUNT}` : times;
      refuse(`the text occurs ${count} times${firstLines(text, finder)}. ${MORE_OR_ALL}`);
    }
    if (times > MAX_REPLACEMENTS) {
      refuse(`the text occurs more than ${MAX_REPLACEMENTS} times. Give more of the text around it.`);
    }
    if (text.length + times * (replacement.length - old.length) > MAX_LENGTH) {
      refuse("the file would be larger than 16 MiB. Replace less.");
    }
    text = replace(text, old, replacement, finder);
    replacements += times;
  }
  return { text, replacements };
}

/** Counts the occurrences that can be replaced, which do not overlap. */
function replaceableIn(text: string, finder: TextFinder): number {
  let count = 0;
  for (const _ of finder.positionsIn(text)) if (++count > MAX_REPLACEMENTS) break;
  return count;
}

/** Takes the replacement as it is: `$&` means nothing. */
function replace(text: string, old: string, replacement: string, finder: TextFinder): string {
  const parts: string[] = [];
  let end = 0;
  for (const at of finder.positionsIn(text)) {
    parts.push(text.slice(end, at), replacement);
    end = at + old.length;
  }
  return parts.join("") + text.slice(end);
}

const NUMBERED_OLD =
  "the text does not occur: it has the line numbers that read_file shows, which are no part of the file. Leave them out, with the tab after each.";

const MORE_OR_ALL = "Give more of the text around it, or set replaceAll.";

/** Says what to do about a text that does not occur. */
export function missing(text: string, old: string): string {
  if (hasLineNumbers(old)) return NUMBERED_OLD;
  if (old.includes("\n") && new TextFinder(old.replaceAll(/\r?\n/g, "\r\n")).indexIn(text) >= 0) {
    return "the text does not occur, as the lines of the file end with \\r\\n. Give the text with these line ends.";
  }
  const spaced = withOneSpace(old);
  const found = spaced.length > 1 ? new TextFinder(spaced).indexIn(withOneSpace(text)) : -1;
  const other = found < 0 ? "" : " as it is, but with other white space, such as tabs for spaces";
  return `the text does not occur${other}. Read the file again, and copy the text exactly, with its white space.`;
}

function withOneSpace(text: string): string {
  return text.replace(/\s+/g, " ");
}

/** Says in which lines a text begins, for the first few places. */
function firstLines(text: string, finder: TextFinder): string {
  const lines: number[] = [];
  let [line, at] = [1, 0];
  for (const place of finder.positionsIn(text)) {
    for (let end = text.indexOf("\n", at); end >= 0 && end < place; end = text.indexOf("\n", at)) {
      line++;
      at = end + 1;
    }
    lines.push(line);
    if (lines.length === MAX_NAMED) break;
  }
  const different = [...new Set(lines)];
  return different.length === 1 ? "" : `, first in the lines ${different.join(", ")}`;
}

/** Returns the tool `patch_file`. */
export function patchFile(writing: Writing): Tool {
  return defineTool({
    name: "patch_file",
    description:
      "Replaces a text that occurs exactly once in a file; otherwise it fails, and changes nothing. The text stands there " +
      "without the line numbers that read_file shows. Shows the changed lines.",
    sideEffects: "write",
    confirm: "prompt",
    usesFiles: "staged",
    paths: [{ argument: "/path", access: "write" }],
    inputSchema: inputSchema({
      path: FILE_PATH,
      old: { type: "string", minLength: 1, description: "The exact text in the file, with its white space" },
      new: { type: "string", description: "The text to put in its place" },
    }),
    host: ({ path, old, new: replacement }, context) =>
      writing.run(context.workspace, async () => {
        const files = grantedFiles(context);
        const before = await files.read(path);
        await patch(files, before, path, old, replacement);
        const at = new TextFinder(old).indexIn(before);
        const after = before.slice(0, at) + replacement + before.slice(at + old.length);
        return { replacements: 1, changed: changedLines(before, after) };
      }),
    modelText: editText,
  });
}

/** Says also what to do if the text does not occur exactly once. */
async function patch(
  files: WorkspaceFiles,
  before: string,
  path: string,
  old: string,
  replacement: string,
): Promise<void> {
  if (hasLineNumbers(replacement) && !hasLineNumbers(old) && new TextFinder(old).indexIn(before) >= 0)
    throw new FileFailure("invalid", `Cannot patch '${shownPath(path)}': ${NUMBERED}`);
  try {
    await files.patch(path, old, replacement);
  } catch (error) {
    if (!(error instanceof FileFailure) || error.reason !== "invalid") throw error;
    if (error.message.endsWith("times"))
      throw new FileFailure("invalid", `${error.message}. Give more of the text around it.`);
    throw new FileFailure("invalid", `Cannot patch '${shownPath(path)}': ${missing(before, old)}`);
  }
}
