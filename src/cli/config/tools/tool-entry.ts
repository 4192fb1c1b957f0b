import { DURATION, described, FLAG } from "../../../config/described.ts";
import { type CompiledShape, compileShape, mapOf } from "../../../config/shape.ts";
import type { JsonObject } from "../../../json/value.ts";
import { DIALECTS, type SchemaDialect } from "../../../schema/dialects/type-names.ts";
import type { MicrovmImplementation } from "../../../tool/implementations/microvm-implementation.ts";
import type {
  ArgumentReference,
  ProcessImplementation,
} from "../../../tool/implementations/process-implementation.ts";
import type { RemoteImplementation } from "../../../tool/implementations/remote-implementation.ts";
import type { WasmImplementation } from "../../../tool/implementations/wasm-implementation.ts";
import type { ToolTraits } from "../../../tool/tool-traits.ts";
import type { ProgramTimes } from "./program-times.ts";
import { IMPLEMENTATIONS } from "./shapes/implementations.ts";
import { type ConfigTrait, TRAITS } from "./shapes/tool-traits.ts";

/** The names of the traits that are copied from a config as they are. */
export const CONFIG_TRAITS: readonly ConfigTrait[] = Object.keys(TRAITS) as ConfigTrait[];

/** What decides how a tool's arguments are read. A free-form tool, whose input is a text, has none of it. */
const ARGUMENTS: JsonObject = {
  if: { properties: { freeform: { const: true } }, required: ["freeform"] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
  then: { properties: { inputSchema: false, dialect: false, nullForOptional: false, coerce: false } },
  else: { required: ["inputSchema"] },
};

/** The shape of an item of `tools`. */
export const TOOL_SHAPE: CompiledShape = compileShape({
  ...ARGUMENTS,
  ...mapOf(
    {
      name: described(
        { type: "string" },
        "1 to 128 printable characters without white space. Providers that do not accept the name get an alias.",
      ),
      description: described({ type: "string" }, "What the tool does, for the model."),
      freeform: described(FLAG, "Whether the tool takes one text that is not JSON. Default: `false`."),
      inputSchema: described(
        { type: ["object", "string"] },
        "The JSON Schema of the arguments, or the path of its file. Required unless the tool is free-form.",
      ),
      dialect: described(
        { type: "string", enum: ["auto", ...Object.keys(DIALECTS)] },
        "The dialect from which `inputSchema` is converted: see docs/schemas.md. Default: it is JSON Schema.",
      ),
      nullForOptional: described(
        { type: "string", enum: ["absent", "reject"] },
        "What `null` means for a property that is optional and does not accept it: the property is removed, or the call fails. Default: `absent`.",
      ),
      coerce: described(
        FLAG,
        "Whether strings are converted to numbers and booleans, and the other way round, where they are exactly their JSON text. Default: `false`.",
      ),
      ...TRAITS,
      timeout: described(
        DURATION,
        "The wall time of a call. A grant can only shorten it. Default: that of `timeouts`.",
      ),
      ...IMPLEMENTATIONS,
    },
    ["name", "description"],
  ),
});

/** A value of the {@link TOOL_SHAPE}. Paths are relative to the file. */
export interface ToolEntry extends Pick<ToolTraits, ConfigTrait> {
  readonly name: string;
  readonly description: string;
  /** The schema or the path of its file; absent if the tool is free-form. */
  readonly inputSchema?: JsonObject | string;
  readonly freeform?: boolean;
  /** The dialect from which the schema is mapped. Default: the schema is JSON Schema. */
  readonly dialect?: SchemaDialect | "auto";
  readonly nullForOptional?: "absent" | "reject";
  readonly coerce?: boolean;
  /** The wall time, with a unit, such as `30s`. */
  readonly timeout?: string | number;
  readonly host?: HostEntry;
  readonly wasm?: Omit<WasmImplementation, "component"> & { readonly component: string };
  readonly quickjs?: { readonly file?: string; readonly source?: string; readonly export?: string };
  readonly process?: ProcessEntry;
  readonly microvm?: MicrovmImplementation;
  readonly remote?: RemoteImplementation;
}

/** A program. */
export interface ProcessEntry
  extends Omit<ProcessImplementation, "args" | "input" | "killGraceMs" | "idleMs">,
    ProgramTimes {
  readonly args?: readonly (string | ArgumentReference)[];
  readonly input?: "json" | "none" | ArgumentReference;
}

/** An export of an ES module. */
export interface HostEntry {
  readonly module: string;
  /** Default: `"default"`. */
  readonly export?: string;
  /**
   * Whether the export is a function that runs in a worker thread, as a `HostModule` does. Otherwise it is a function
   * or a factory, and the module is imported into this process. Default: `true`.
   */
  readonly thread?: boolean;
}
