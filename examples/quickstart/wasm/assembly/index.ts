import { Definition, definitions, error, ErrorCode, readString } from "./guest";
import { similarNames } from "./similar-names";

export { realloc as cabi_realloc } from "./guest";

const NAMES = '{"type":"array","items":{"type":"string"}}';

/** `sandgate:tool/guest#describe`; the build renames the export. */
export function describe(): usize {
  return definitions([
    new Definition(
      "similar_names",
      "Ranks names by their edit distance to a query",
      '{"type":"object","properties":{"query":{"type":"string"},"candidates":' +
        NAMES +
        '},"required":["query","candidates"],"additionalProperties":false}',
    ),
    new Definition("wasm_loop", "Never ends", '{"type":"object"}'),
    new Definition("wasm_bomb", "Allocates all the memory it can get", '{"type":"object"}'),
  ]);
}

/** `sandgate:tool/guest#call`; the build renames the export. */
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
  const name = readString(tool, toolBytes);
  if (name == "similar_names") return similarNames(readString(input, inputBytes));
  if (name == "wasm_loop") loop();
  if (name == "wasm_bomb") bomb();
  return error(ErrorCode.notFound, "this component has no such tool");
}

function loop(): void {
  let counter = 0;
  while (true) counter++;
}

function bomb(): void {
  while (memory.grow(1) != -1);
  unreachable();
}
