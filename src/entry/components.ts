// Tools of a component

export {
  type ComponentTool,
  type ComponentTools,
  componentTools,
} from "../sandboxes/wasm/tools/component-tools.ts";

// What a component exports and imports

export type { ImportAuthority } from "../sandboxes/wasm/interfaces.ts";
export {
  type ComponentInspection,
  type InspectedExport,
  type InspectedImport,
  inspectComponent,
} from "../sandboxes/wasm/tools/inspect-component.ts";
