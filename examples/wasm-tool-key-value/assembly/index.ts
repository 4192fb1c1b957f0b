// `note` keeps a text under a title, and returns the text that was there before.
import { Definition, definitions, error, ErrorCode, ok, readString } from "./guest";
import { JsonReader, quote } from "./json";
import { Store } from "./store";

export { realloc as cabi_realloc } from "./guest";

/** `describe` of sandgate:tool/guest. */
export function describe(): usize {
  return definitions([
    new Definition(
      "note",
      "Returns the note with a title, or null. With a text, it then replaces the note.",
      '{"type":"object","properties":{"title":{"type":"string","minLength":1,"maxLength":200},' +
        '"text":{"type":"string","maxLength":10000}},"required":["title"],"additionalProperties":false}',
    ),
  ]);
}

/** `call` of sandgate:tool/guest. */
export function call(
  tool: usize,
  toolBytes: usize,
  input: usize,
  inputBytes: usize,
  callId: usize,
  callIdBytes: usize,
  hasWallTime: u32,
  wallTimeMs: u64,
): usize {
  if (readString(tool, toolBytes) != "note") return error(ErrorCode.notFound, "there is no such tool");
  const reader = new JsonReader(readString(input, inputBytes));
  let title = "";
  let text: string | null = null;
  for (let name = reader.member(true); name != null; name = reader.member(false)) {
    if (name == "title") title = reader.string();
    else if (name == "text") text = reader.string();
    else reader.skip();
  }
  if (reader.failed) return error(ErrorCode.invalidInput, "the input must be { title: string, text?: string }");
  const store = new Store("notes");
  const before = store.get(title);
  if (store.problem != "") return error(ErrorCode.unavailable, store.problem);
  if (text != null && !store.set(title, text)) return error(ErrorCode.unavailable, store.problem);
  return ok(before == null ? "null" : quote(before));
}
