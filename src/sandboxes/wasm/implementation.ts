/** A tool that is a WebAssembly component of the world `sandgate:tool` (see `wit/tool.wit`). Not trusted. */
export interface WasmImplementation {
  /** The component: the path or `file:` URL of its file, or its bytes. */
  readonly component: string | URL | Uint8Array;
  /** The name that the component knows the tool by. Default: the tool's own name. */
  readonly tool?: string;
}
