/**
 * A tool that is a function of a WebAssembly component. Not trusted. Without `export`, the component is of the
 * world `sandgate:tool` (see `wit/tool.wit`); otherwise any, and the tool's input is an object with a member for
 * each of the function's parameters: `componentTools` derives its schema.
 */
export interface WasmImplementation {
  /** The component: the path or `file:` URL of its file, or its bytes. */
  readonly component: string | URL | Uint8Array;
  /** The name that a component of the world knows the tool by. Default: the tool's own name. */
  readonly tool?: string;
  /** An exported function: `name`, or `interface#name` such as `docs:adder/add@0.1.0#add`. */
  readonly export?: string;
}
