// `slugify` writes a title as part of a URL.
import { Definition, definitions, error, ErrorCode, ok, readString } from "./guest";
import { JsonReader, quote } from "./json";

export { realloc as cabi_realloc } from "./guest";

/** `log` of sandgate:tool/host. */
@external("sandgate:tool/host@0.1.0", "log")
declare function hostLog(level: u8, message: usize, messageBytes: usize): void;

const INFO: u8 = 1;

function log(message: string): void {
  const bytes = String.UTF8.encode(message);
  hostLog(INFO, changetype<usize>(bytes), bytes.byteLength);
}

/** `describe` of sandgate:tool/guest. */
export function describe(): usize {
  return definitions([
    new Definition(
      "slugify",
      "Writes a title as part of a URL: lower case, words separated by hyphens",
      '{"type":"object","properties":{"title":{"type":"string","maxLength":1000}},' +
        '"required":["title"],"additionalProperties":false}',
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
  if (readString(tool, toolBytes) != "slugify") return error(ErrorCode.notFound, "there is no such tool");
  const reader = new JsonReader(readString(input, inputBytes));
  let title = "";
  for (let name = reader.member(true); name != null; name = reader.member(false)) {
    if (name == "title") title = reader.string();
    else reader.skip();
  }
  if (reader.failed) return error(ErrorCode.invalidInput, "the input must be { title: string }");
  const slug = slugify(title);
  if (slug == "") return error(ErrorCode.invalidInput, "the title has no letters from a to z and no digits");
  log("characters: " + slug.length.toString());
  return ok(quote(slug));
}

function slugify(title: string): string {
  let slug = "";
  let separate = false;
  for (let at = 0; at < title.length; at++) {
    const unit = title.charCodeAt(at);
    const lower = unit >= 0x41 && unit <= 0x5a ? unit | 0x20 : unit;
    const isKept = (lower >= 0x61 && lower <= 0x7a) || (lower >= 0x30 && lower <= 0x39);
    if (isKept) slug += (separate && slug != "" ? "-" : "") + String.fromCharCode(lower);
    separate = !isKept;
  }
  return slug;
}
