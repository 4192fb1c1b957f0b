import { ToolPreparationError } from "../../contract/sandbox.ts";
import type { BinaryReader } from "../core-module/binary.ts";
import type { CanonicalOptions, ComponentFunction } from "./link-plan.ts";
import type { Scope } from "./scope.ts";
import { unsupportedIn } from "./value-type.ts";

/** Built-in functions that are not supported, by consecutive codes (`Binary.md`, `canon`). */
const NAMES: readonly (readonly [from: number, names: string])[] = [
  [
    0x05,
    "task.cancel subtask.cancel resource.drop-async backpressure.set task.return context.get context.set",
  ],
  [
    0x0c,
    "thread.yield subtask.drop stream.new stream.read stream.write stream.cancel-read stream.cancel-write",
  ],
  [0x13, "stream.drop-readable stream.drop-writable future.new future.read future.write future.cancel-read"],
  [0x19, "future.cancel-write future.drop-readable future.drop-writable error-context.new"],
  [
    0x1d,
    "error-context.debug-message error-context.drop waitable-set.new waitable-set.wait waitable-set.poll",
  ],
  [0x22, "waitable-set.drop waitable.join backpressure.inc backpressure.dec"],
];

const OPTION = {
  utf8: 0,
  utf16: 1,
  latin1OrUtf16: 2,
  memory: 3,
  realloc: 4,
  postReturn: 5,
  async: 6,
  callback: 7,
} as const;

/**
 * Reads a canonical definition (`Binary.md`, `canon`), which lifts, lowers or creates a function.
 *
 * @throws {ToolPreparationError} if it is invalid or not supported.
 */
export function readCanon(reader: BinaryReader, scope: Scope): void {
  const form = reader.byte();
  switch (form) {
    case 0x00: {
      reader.byte();
      const core = scope.coreFunctions.get(reader.u32());
      const options = readOptions(reader, scope);
      const type = scope.types.get(reader.u32());
      if (type.sort !== "function")
        throw new ToolPreparationError("it lifts a function to a type that is not a function type");
      scope.functions.add({ kind: "lift", type: type.type, core, options });
      return;
    }
    case 0x01: {
      reader.byte();
      const lowered = scope.functions.get(reader.u32());
      refuseUnsupported(lowered);
      scope.coreFunctions.add({ kind: "lower", function: lowered, options: readOptions(reader, scope) });
      return;
    }
    case 0x02:
    case 0x03:
    case 0x04: {
      const type = scope.types.get(reader.u32());
      if (type.sort !== "resource")
        throw new ToolPreparationError("it uses a type as a resource that is not a resource type");
      const kind = form === 0x02 ? "resource.new" : form === 0x03 ? "resource.drop" : "resource.rep";
      scope.coreFunctions.add({ kind, resource: type.resource, component: scope.component });
      return;
    }
    default:
      throw new ToolPreparationError(`it uses the built-in '${builtInName(form)}', which is not supported`);
  }
}

/** Refuses a function that the component could call, but not with such values. */
function refuseUnsupported({ type: { params, result, isAsync } }: ComponentFunction): void {
  if (isAsync) throw new ToolPreparationError("it calls an 'async' function, which is not supported");
  const what = [...params.map(({ type }) => type), ...(result ? [result] : [])]
    .map(unsupportedIn)
    .find((found) => found !== undefined);
  if (what === undefined) return;
  throw new ToolPreparationError(
    `it calls a function that takes or returns a ${what}, which is not supported`,
  );
}

function readOptions(reader: BinaryReader, scope: Scope): CanonicalOptions {
  const options: { -readonly [Name in keyof CanonicalOptions]: CanonicalOptions[Name] } = {
    component: scope.component,
    encoding: "utf8",
    memory: undefined,
    realloc: undefined,
    postReturn: undefined,
  };
  reader.vector(() => {
    switch (reader.byte()) {
      case OPTION.utf8:
        options.encoding = "utf8";
        return;
      case OPTION.utf16:
        options.encoding = "utf16";
        return;
      case OPTION.latin1OrUtf16:
        options.encoding = "latin1+utf16";
        return;
      case OPTION.memory:
        options.memory = scope.coreMemories.get(reader.u32());
        return;
      case OPTION.realloc:
        options.realloc = scope.coreFunctions.get(reader.u32());
        return;
      case OPTION.postReturn:
        options.postReturn = scope.coreFunctions.get(reader.u32());
        return;
      case OPTION.async:
        throw new ToolPreparationError("it lifts or lowers a function with 'async', which is not supported");
      case OPTION.callback:
        throw new ToolPreparationError("it lifts a function with 'callback', which is not supported");
      default:
        throw new ToolPreparationError("it lifts or lowers a function with 'gc', which is not supported");
    }
  });
  return options;
}

/** Returns the name of a built-in function that is not supported, for messages. */
function builtInName(form: number): string {
  for (const [from, names] of NAMES) {
    const name = names.split(" ")[form - from];
    if (name !== undefined) return name;
  }
  return `thread functions (0x${form.toString(16)})`;
}
