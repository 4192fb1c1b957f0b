/**
 * A tool as a function of a WebAssembly component. It is not trusted. Without `export`, the component implements the
 * world `sandgate:tool` (see `wit/tool.wit`). With `export`, it can be any component, and the tool's input is an object
 * with a member for each parameter of the function; `componentTools` derives its schema.
 */
export interface WasmImplementation {
  /** The component, as the path or `file:` URL of its file, or as its bytes. */
  readonly component: string | URL | Uint8Array;
  /** The tool's name within a component of the world `sandgate:tool`. Default: the name of the tool. */
  readonly tool?: string;
  /** The exported function: `name` or `interface#name`, such as `docs:adder/add@0.1.0#add`. */
  readonly export?: string;
  /**
   * `"jco"` runs the component with the JavaScript that jco generates from it, which is only for components that are
   * trusted (see SECURITY.md). Its functions may take resources. A call needs the capability `engine: "jco"`. Default:
   * Sandgate's own engine, which is for any component.
   */
  readonly engine?: "jco";
}
