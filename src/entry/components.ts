// Tools of a component

export {
  type ComponentTool,
  type ComponentTools,
  componentTools,
} from "../sandboxes/wasm/tools/component-tools.ts";

// What a component exports and imports

export { type ComponentInspection, inspectComponent } from "../sandboxes/wasm/tools/inspect-component.ts";
